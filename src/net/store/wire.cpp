#include "net/store/wire.h"

#include <cstring>
#include <type_traits>

namespace gradwire {
namespace {

constexpr std::string_view kMagic = "gradwire store 1";

// Numbers go in the byte order of little-endian machines, whatever machine this is.
template <typename T>
void put_integer(std::string& out, T value) {
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i, bits = static_cast<decltype(bits)>(bits >> 7 >> 1))
    out.push_back(static_cast<char>(bits & 0xff));
}

void put_text(std::string& out, std::string_view text) {
  put_integer(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

void put_bytes(std::string& out, const Nonce& bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Takes values off the front of a message.
class Parser {
 public:
  explicit Parser(std::string_view rest) : rest_(rest) {}

  std::string_view take(std::size_t count) {
    if (count > rest_.size()) throw Malformed("a message to or from the store is cut short");
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <typename T>
  T integer() {
    std::make_unsigned_t<T> bits = 0;
    const auto bytes = take(sizeof(T));
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bits = static_cast<decltype(bits)>(
          bits | static_cast<decltype(bits)>(static_cast<unsigned char>(bytes[i])) << 8 * i);
    return static_cast<T>(bits);
  }
  std::string text() { return std::string(take(integer<std::uint32_t>())); }
  Nonce bytes() {
    Nonce bytes;
    std::memcpy(bytes.data(), take(bytes.size()).data(), bytes.size());
    return bytes;
  }
  void end() const {
    if (!rest_.empty()) throw Malformed("a message to or from the store is too long");
  }

 private:
  std::string_view rest_;
};

static_assert(std::is_same_v<Nonce, Proof>);

}  // namespace

std::optional<std::string> FrameReader::next(std::size_t limit) {
  const auto here = std::string_view(bytes_).substr(begin_);
  if (here.size() < 4) return std::nullopt;
  const auto length = Parser(here).integer<std::uint32_t>();
  if (length > limit)
    throw Malformed(fmt::format("a message of {} bytes to or from the store is too long", length));
  if (here.size() - 4 < length) return std::nullopt;
  std::string content(here.substr(4, length));
  begin_ += 4 + length;
  // Moving the rest to the front each time would make many small frames in one read cost their square.
  if (begin_ == bytes_.size() || begin_ > kMaxStrangerFrame + bytes_.size() / 2) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  return content;
}

std::string frame(std::string_view content) {
  std::string out;
  out.reserve(4 + content.size());
  put_text(out, content);
  return out;
}

std::string Greeting::encode() const {
  std::string out(kMagic);
  put_bytes(out, nonce);
  return out;
}

Greeting Greeting::decode(std::string_view message) {
  Parser parser(message);
  if (parser.take(kMagic.size()) != kMagic) throw Malformed("this is not a store of Gradwire");
  Greeting greeting{parser.bytes()};
  parser.end();
  return greeting;
}

std::string Claim::encode() const {
  std::string out;
  put_bytes(out, nonce);
  put_bytes(out, proof);
  put_integer(out, static_cast<std::int32_t>(who.rank));
  put_text(out, who.space);
  return out;
}

Claim Claim::decode(std::string_view message) {
  Parser parser(message);
  Claim claim;
  claim.nonce = parser.bytes();
  claim.proof = parser.bytes();
  claim.who.rank = parser.integer<std::int32_t>();
  claim.who.space = parser.text();
  parser.end();
  return claim;
}

std::string ProofVerdict::encode() const {
  std::string out(1, proof ? '\1' : '\0');
  if (proof) put_bytes(out, *proof);
  put_text(out, reason);
  return out;
}

ProofVerdict ProofVerdict::decode(std::string_view message) {
  Parser parser(message);
  ProofVerdict verdict;
  if (parser.integer<std::uint8_t>() != 0) verdict.proof = parser.bytes();
  verdict.reason = parser.text();
  parser.end();
  return verdict;
}

Proof client_proof(std::string_view secret, const Nonce& server, const Nonce& client,
                   const Introduction& who) {
  std::string message = "gradwire store 1 client";
  put_bytes(message, server);
  put_bytes(message, client);
  put_integer(message, static_cast<std::int32_t>(who.rank));
  put_text(message, who.space);
  return prove(secret, message);
}

Proof server_proof(std::string_view secret, const Nonce& server, const Nonce& client) {
  std::string message = "gradwire store 1 server";
  put_bytes(message, server);
  put_bytes(message, client);
  return prove(secret, message);
}

std::string Request::encode() const {
  std::string out;
  put_integer(out, static_cast<std::uint8_t>(kind));
  put_integer(out, number);
  put_integer(out, amount);
  put_text(out, key);
  put_text(out, value);
  return out;
}

Request Request::decode(std::string_view message) {
  Parser parser(message);
  Request request;
  const auto kind = parser.integer<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Kind::offer)) throw Malformed("no such request to a store");
  request.kind = static_cast<Kind>(kind);
  request.number = parser.integer<std::uint64_t>();
  request.amount = parser.integer<std::int64_t>();
  request.key = parser.text();
  request.value = parser.text();
  parser.end();
  return request;
}

std::string Reply::encode() const {
  std::string out;
  put_integer(out, number);
  put_integer(out, static_cast<std::uint8_t>(ok));
  put_text(out, value);
  return out;
}

Reply Reply::decode(std::string_view message) {
  Parser parser(message);
  Reply reply;
  reply.number = parser.integer<std::uint64_t>();
  reply.ok = parser.integer<std::uint8_t>() != 0;
  reply.value = parser.text();
  parser.end();
  return reply;
}

}  // namespace gradwire
