// A JSON document taken apart while it is read, so that a trace of gigabytes needs the memory of its largest
// event: the members of the outermost object come one by one, and of one member, an array, its elements. A
// document that is an array itself gives its elements. Pieces are not looked into: text that is no JSON inside
// a piece is for the caller to find. One thread; what next() returns lives until the next call.
//
// Tolerant where others' files are broken: a line's end ends a string (old traces have raw quotes in names),
// and a document cut off anywhere gives what was whole, then damage().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/byte_source.h"

namespace gradwire {

struct JsonPiece {
  std::string_view key;  // of a member; empty for an element
  std::string_view text;
  std::size_t room = 0;  // bytes from text's begin that may be read, as parsers that look ahead want it
};

class JsonPieces {
 public:
  static constexpr std::size_t kMostPiece = 16 << 20;

  // `source` outlives this; `array` is the member whose elements come one by one.
  JsonPieces(ByteSource& source, std::string array);
  std::optional<JsonPiece> next();
  const std::string& damage() const { return damage_; }  // what is wrong with the document; empty: nothing

 private:
  enum class Place { start, object, array, end };

  std::optional<JsonPiece> next_member();
  std::optional<JsonPiece> next_element();
  std::optional<JsonPiece> stop(std::string why);
  std::string end_reason() const;

  // Offsets count from begin_, because the buffer moves when it is filled.
  bool has(std::size_t at) { return begin_ + at < end_ || fill_to(at); }
  bool fill_to(std::size_t at);
  bool fill();
  char byte(std::size_t at) const { return buffer_[begin_ + at]; }
  std::size_t skip_blanks(std::size_t at);
  std::size_t end_of_string(std::size_t at);
  std::size_t end_of_nested(std::size_t at);
  std::size_t end_of_value(std::size_t at);
  JsonPiece piece(std::string_view key, std::size_t from, std::size_t to);

  ByteSource& source_;
  const std::string array_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t used_ = 0;  // by the piece given last
  Place place_ = Place::start;
  bool in_member_ = false;  // the array is a member: after it the object goes on
  bool too_long_ = false;
  std::string key_, damage_;
};

}  // namespace gradwire
