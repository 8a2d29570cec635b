#include "base/secret.h"

#include <sodium.h>

#include "base/error.h"

namespace gradwire {
namespace {

static_assert(sizeof(Proof) == crypto_auth_hmacsha256_BYTES);

void initialise() {
  if (sodium_init() < 0) throw Error("libsodium could not be initialised: the system gives no randomness");
}

}  // namespace

std::string make_secret() {
  const Nonce random = make_nonce();
  std::string hex(2 * random.size() + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(random.data()),
                 random.size());
  hex.pop_back();
  return hex;
}

Nonce make_nonce() {
  initialise();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Proof prove(std::string_view secret, std::string_view message) {
  initialise();
  crypto_auth_hmacsha256_state state;
  Proof proof;
  crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(message.data()),
                                message.size());
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(proof.data()));
  return proof;
}

bool same(const Proof& a, const Proof& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace gradwire
