// What a store's server and its clients say to each other over TCP, as values turned to bytes and back.
//
// Everything travels in frames: four bytes of length, then that many bytes. A connection opens so:
//
//   server   Greeting   what this is, and a nonce
//   client   Claim      its own nonce, who it is, and its proof that it knows the secret
//   server   ProofVerdict    its own proof that it knows the secret, or a refusal in words
//
// The secret itself never travels, both proofs cover both nonces, and the two have different labels, so that
// none can be replayed or thrown back. After that come requests and replies, matched by number, replies in
// any order. Nothing is encrypted: this keeps strangers and mix-ups out, not someone who owns the network.
//
// Decoding throws Malformed on anything that is not of this language, and never reads beyond what arrived.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/secret.h"
#include "base/units.h"

namespace gradwire {

inline constexpr std::size_t kMaxFrame = 16 << 20;
inline constexpr std::size_t kMaxStrangerFrame = 512;  // before the proof
inline constexpr std::size_t kMaxSpace = 128;

class Malformed : public TransportError {
 public:
  using TransportError::TransportError;
};

// Bytes as they arrive on one side, whole frames on the other.
class FrameReader {
 public:
  void append(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole frame, if it is here. Throws when it announces more than `limit` bytes.
  std::optional<std::string> next(std::size_t limit);

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // what precedes was given out
};

std::string frame(std::string_view content);

struct Greeting {
  Nonce nonce{};
  std::string encode() const;
  static Greeting decode(std::string_view);
};

// Who a client says it is: a rank (-1 for none) in a space, which is a set of keys of its own.
struct Introduction {
  Rank rank = -1;
  std::string space;
  bool operator==(const Introduction&) const = default;
};

struct Claim {
  Nonce nonce{};
  Proof proof{};
  Introduction who;
  std::string encode() const;
  static Claim decode(std::string_view);
};

struct ProofVerdict {
  std::optional<Proof> proof;  // none: refused
  std::string reason;
  std::string encode() const;
  static ProofVerdict decode(std::string_view);
};

Proof client_proof(std::string_view secret, const Nonce& server, const Nonce& client, const Introduction&);
Proof server_proof(std::string_view secret, const Nonce& server, const Nonce& client);

struct Request {
  // forget: whoever sent the get of the same number gives up, and is told so unless a reply has gone already
  enum class Kind : std::uint8_t { set, get, add, find, forget, offer };
  Kind kind = Kind::find;
  std::uint64_t number = 0;
  std::int64_t amount = 0;
  std::string key, value;
  std::string encode() const;
  static Request decode(std::string_view);
};

struct Reply {
  std::uint64_t number = 0;
  bool ok = true;
  std::string value;  // the reason when not ok
  std::string encode() const;
  static Reply decode(std::string_view);
};

}  // namespace gradwire
