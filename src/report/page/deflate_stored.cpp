// Where there is no zlib: deflate's own way to say that bytes follow as they are, 65535 at a time.
#include <algorithm>

#include "report/page/page_data.h"

namespace gradwire {

std::string deflate_raw(std::string_view bytes) {
  constexpr std::size_t kMost = 65535;
  std::string out;
  do {
    const std::string_view block = bytes.substr(0, kMost);
    bytes.remove_prefix(block.size());
    const auto length = static_cast<unsigned>(block.size());
    out += static_cast<char>(bytes.empty() ? 1 : 0);  // the last block says so
    for (const unsigned number : {length, ~length}) {
      out += static_cast<char>(number & 255);
      out += static_cast<char>(number >> 8 & 255);
    }
    out += block;
  } while (!bytes.empty());
  return out;
}

}  // namespace gradwire
