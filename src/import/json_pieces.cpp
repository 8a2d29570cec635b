#include "import/json_pieces.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace gradwire {
namespace {

constexpr std::size_t kFirstBuffer = 1 << 20, kPadding = 64;
constexpr std::size_t kNowhere = std::string::npos;

using ByteSet = std::array<bool, 256>;

constexpr ByteSet bytes_of(std::string_view text) {
  ByteSet set{};
  for (const char c : text) set[static_cast<unsigned char>(c)] = true;
  return set;
}

constexpr ByteSet kInString = bytes_of("\"\\\n"), kNesting = bytes_of("{}[]\""),
                  kAfterScalar = bytes_of(",]} \t\r\n");

// Eight bytes at a time, as one number. A byte that is zero leaves its highest bit; so may those above it, which the first
// one found makes harmless.
constexpr std::uint64_t kEach = 0x0101010101010101;
constexpr std::uint64_t zero_bytes(std::uint64_t word) { return (word - kEach) & ~word & (kEach << 7); }
constexpr std::uint64_t equal_bytes(std::uint64_t word, char c) {
  return zero_bytes(word ^ (kEach * static_cast<unsigned char>(c)));
}

// The first byte of the set, or the end; `candidates` marks the bytes of a word that may be of it.
template <typename Candidates>
const char* first_of(const ByteSet& set, Candidates candidates, const char* p, const char* end) {
  if constexpr (std::endian::native == std::endian::little)
    while (end - p >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, sizeof word);
      const std::uint64_t found = candidates(word);
      if (found == 0) {
        p += 8;
        continue;
      }
      p += std::countr_zero(found) / 8;
      if (set[static_cast<unsigned char>(*p)]) return p;
      ++p;
    }
  while (p != end && !set[static_cast<unsigned char>(*p)]) ++p;
  return p;
}

const char* end_within_string(const char* p, const char* end) {
  return first_of(
      kInString,
      [](std::uint64_t word) {
        return equal_bytes(word, '"') | equal_bytes(word, '\\') | equal_bytes(word, '\n');
      },
      p, end);
}

// With three of their bits set the four brackets are one byte, which else only Y, y and _ become.
const char* next_bracket_or_quote(const char* p, const char* end) {
  return first_of(
      kNesting,
      [](std::uint64_t word) { return equal_bytes(word | kEach * 0x26, 0x7f) | equal_bytes(word, '"'); }, p,
      end);
}

}  // namespace

JsonPieces::JsonPieces(ByteSource& source, std::string array)
    : source_(source), array_(std::move(array)), buffer_(kFirstBuffer + kPadding) {}

bool JsonPieces::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + kPadding >= buffer_.size()) {
    if (buffer_.size() >= kMostPiece) {
      too_long_ = true;
      return false;
    }
    buffer_.resize(buffer_.size() * 2);
  }
  const std::size_t got = source_.read({buffer_.data() + end_, buffer_.size() - kPadding - end_});
  end_ += got;
  return got > 0;
}

bool JsonPieces::fill_to(std::size_t at) {
  while (begin_ + at >= end_)
    if (!fill()) return false;
  return true;
}

std::size_t JsonPieces::skip_blanks(std::size_t at) {
  while (has(at)) {
    const char c = byte(at);
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return at;
    ++at;
  }
  return kNowhere;
}

// `at` is the opening quote; returns what follows the closing one.
std::size_t JsonPieces::end_of_string(std::size_t at) {
  ++at;
  while (has(at)) {
    const char *const begin = buffer_.data() + begin_ + at, *const end = buffer_.data() + end_;
    const char* const p = end_within_string(begin, end);
    at += static_cast<std::size_t>(p - begin);
    if (p == end) continue;
    if (*p != '\\') return at + 1;
    at += 2;
  }
  return kNowhere;
}

std::size_t JsonPieces::end_of_nested(std::size_t at) {
  std::size_t depth = 0;
  while (has(at)) {
    const char *const begin = buffer_.data() + begin_ + at, *const end = buffer_.data() + end_;
    const char* const p = next_bracket_or_quote(begin, end);
    at += static_cast<std::size_t>(p - begin);
    if (p == end) continue;
    if (*p == '"') {
      at = end_of_string(at);
      if (at == kNowhere) return kNowhere;
      continue;
    }
    ++at;
    if (*p == '{' || *p == '[')
      ++depth;
    else if (--depth == 0)
      return at;
  }
  return kNowhere;
}

std::size_t JsonPieces::end_of_value(std::size_t at) {
  const char first = byte(at);
  if (first == '{' || first == '[') return end_of_nested(at);
  if (first == '"') return end_of_string(at);
  while (has(at) && !kAfterScalar[static_cast<unsigned char>(byte(at))]) ++at;
  return begin_ + at < end_ ? at : kNowhere;
}

JsonPiece JsonPieces::piece(std::string_view key, std::size_t from, std::size_t to) {
  used_ = to;
  const char* text = buffer_.data() + begin_ + from;
  return {key, {text, to - from}, buffer_.size() - begin_ - from};
}

std::string JsonPieces::end_reason() const {
  if (too_long_) return fmt::format("one event is longer than {} MiB", kMostPiece >> 20);
  if (!source_.damage().empty()) return source_.damage();
  return "the file is cut off";
}

std::optional<JsonPiece> JsonPieces::stop(std::string why) {
  damage_ = std::move(why);
  place_ = Place::end;
  return std::nullopt;
}

std::optional<JsonPiece> JsonPieces::next_element() {
  std::size_t at = skip_blanks(0);
  while (at != kNowhere && byte(at) == ',') at = skip_blanks(at + 1);
  if (at == kNowhere) return stop(end_reason());
  if (byte(at) == ']') {
    begin_ += at + 1;
    place_ = in_member_ ? Place::object : Place::end;
    return std::nullopt;
  }
  const std::size_t end = end_of_value(at);
  if (end == kNowhere) return stop(end_reason());
  if (end == at) return stop(fmt::format("there is a '{}' where an event should be", byte(at)));
  return piece({}, at, end);
}

std::optional<JsonPiece> JsonPieces::next_member() {
  std::size_t at = skip_blanks(0);
  while (at != kNowhere && byte(at) == ',') at = skip_blanks(at + 1);
  if (at == kNowhere) return stop(end_reason());
  if (byte(at) == '}') {
    place_ = Place::end;
    return std::nullopt;
  }
  if (byte(at) != '"') return stop("what follows is no JSON object");
  const std::size_t key_end = end_of_string(at);
  if (key_end == kNowhere) return stop(end_reason());
  key_.assign(buffer_.data() + begin_ + at + 1, key_end - at - 2);
  at = skip_blanks(key_end);
  if (at != kNowhere && byte(at) != ':') return stop("what follows is no JSON object");
  if (at != kNowhere) at = skip_blanks(at + 1);
  if (at == kNowhere) return stop(end_reason());
  if (key_ == array_ && byte(at) == '[') {
    begin_ += at + 1;
    place_ = Place::array;
    in_member_ = true;
    return std::nullopt;
  }
  const std::size_t end = end_of_value(at);
  if (end == kNowhere) return stop(end_reason());
  if (end == at) return stop("what follows is no JSON object");
  return piece(key_, at, end);
}

std::optional<JsonPiece> JsonPieces::next() {
  begin_ += used_;
  used_ = 0;
  if (place_ == Place::start) {
    std::size_t at = skip_blanks(0);
    if (at == 0 && has(2) && std::string_view(buffer_.data(), 3) == "\xef\xbb\xbf") at = skip_blanks(3);
    if (at == kNowhere) return stop(source_.given() == 0 ? "the file is empty" : end_reason());
    if (byte(at) != '{' && byte(at) != '[') return stop("this is no JSON");
    place_ = byte(at) == '{' ? Place::object : Place::array;
    begin_ += at + 1;
  }
  for (;;) {  // an array begins or ends without a piece of its own
    if (place_ == Place::end) return std::nullopt;
    const auto found = place_ == Place::array ? next_element() : next_member();
    if (found) return found;
  }
}

}  // namespace gradwire
