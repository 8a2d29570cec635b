// Shared secrets: made from the system's randomness, proved without being sent. A thin face on libsodium.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace gradwire {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

std::string make_secret();  // 64 hexadecimal digits
Nonce make_nonce();

// What only someone who knows `secret` can compute about `message` (HMAC), and a comparison in constant time.
Proof prove(std::string_view secret, std::string_view message);
bool same(const Proof&, const Proof&);

}  // namespace gradwire
