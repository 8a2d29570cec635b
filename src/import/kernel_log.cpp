#include "import/kernel_log.h"

#include <algorithm>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::string_view kDigits = "0123456789";

// "Fri Aug 30 11:43:09 2024", as dmesg -T has it.
bool is_date(std::string_view stamp) {
  constexpr std::string_view kShape = "Www Mmm dd 00:00:00 0000";
  return stamp.size() == kShape.size() && stamp[13] == ':' && stamp[16] == ':' &&
         stamp.substr(20).find_first_not_of(kDigits) == std::string_view::npos;
}

// Seconds since the machine started, or since the line before ("+0.000316"), with six digits behind the point; a date; of
// journalctl "Nov 18 02:29:38 box kernel: ".
bool has_stamp(std::string_view line) {
  constexpr std::size_t kWithin = 80;
  if (line.substr(0, kWithin).find(" kernel: ") != std::string_view::npos) return true;
  if (!line.starts_with('[')) return false;
  auto stamp = trim(line.substr(1, std::min(line.find(']'), line.size()) - 1));
  if (is_date(stamp)) return true;
  if (stamp.starts_with('+')) stamp.remove_prefix(1);
  const auto point = stamp.find_first_not_of(kDigits);
  return point != std::string_view::npos && point > 0 && stamp[point] == '.' && stamp.size() == point + 7 &&
         stamp.find_first_not_of(kDigits, point + 1) == std::string_view::npos;
}

bool has_word(std::string_view line) {
  return line.find("NVRM:") != std::string_view::npos ||
         line.find("] Linux version ") != std::string_view::npos ||
         line.find("kernel: Linux version ") != std::string_view::npos;
}

}  // namespace

bool is_line_of_kernel(std::string_view line) { return has_stamp(line) || has_word(line); }

bool looks_like_kernel_log(std::string_view text) {
  if (has_word(text)) return true;
  int lines = 0, stamped = 0;
  for (const auto raw : split(text, '\n')) {
    const auto line = trim(raw);
    lines += !line.empty();
    stamped += has_stamp(line);
  }
  return stamped > 0 && stamped * 2 > lines;
}

}  // namespace gradwire
