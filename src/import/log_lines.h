// The lines of a text, one by one, unpacked if it is gzip; escape codes of terminals are left out, and a carriage return,
// behind which a progress bar writes anew, is a blank. A line longer than a screenful of pages is cut. One thread; what next() gives lives until the next call.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "import/byte_source.h"

namespace gradwire {

class LogLines {
 public:
  static constexpr std::size_t kLongestLine = 64 << 10;
  explicit LogLines(ByteSource& source) : source_(source), block_(1 << 18, '\0') {}
  std::optional<std::string_view> next();
  int number() const { return number_; }  // of the line given last, from 1
  bool cut() const { return cut_; }       // some line was longer

 private:
  std::optional<std::string_view> find_plain();  // nothing: it has to be put together
  bool fill();
  void keep(char c);

  ByteSource& source_;
  std::string block_, line_;
  std::size_t at_ = 0, end_ = 0;
  int number_ = 0;
  int escape_ =
      0;  // 0: none; 1: after ESC; 2: in a sequence that a letter ends; 3: in a title, which BEL ends
  bool cut_ = false;
};

}  // namespace gradwire
