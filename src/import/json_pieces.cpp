#include "import/json_pieces.h"

#include <fmt/format.h>

#include <array>
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

bool JsonPieces::has(std::size_t at) {
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
    const char *p = buffer_.data() + begin_ + at, *const begin = p, *const end = buffer_.data() + end_;
    while (p != end && !kInString[static_cast<unsigned char>(*p)]) ++p;
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
    const char *p = buffer_.data() + begin_ + at, *const begin = p, *const end = buffer_.data() + end_;
    while (p != end && !kNesting[static_cast<unsigned char>(*p)]) ++p;
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
