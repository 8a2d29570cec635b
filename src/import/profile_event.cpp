#include "import/profile_event.h"

#include <charconv>
#include <cmath>

#include "base/module.h"

namespace gradwire {
namespace {

constexpr std::int64_t kMostMicroseconds = INT64_MAX / 4000;  // so that sums stay in range

const ModuleSpec kSimdjson = {
    .name = "simdjson",
    .not_built = "this gradwire was built without simdjson (libsimdjson-dev), which reads traces",
    .install = "apt-get install libsimdjson-dev"};

std::optional<Nanoseconds> find_rounded(std::string_view token) {
  double number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (error != std::errc{} || end != token.data() + token.size()) return std::nullopt;
  if (!(std::abs(number) < static_cast<double>(kMostMicroseconds))) return std::nullopt;
  return static_cast<Nanoseconds>(std::llround(number * 1000));
}

}  // namespace

std::unique_ptr<EventParser> make_event_parser() {
  return std::unique_ptr<EventParser>(
      module_function<decltype(gradwire_make_event_parser)>(kSimdjson, "gradwire_make_event_parser")());
}

std::optional<Nanoseconds> find_nanoseconds(std::string_view token) {
  std::int64_t whole = 0;
  const char* const last = token.data() + token.size();
  const auto [end, error] = std::from_chars(token.data(), last, whole);
  if (error != std::errc{} || whole > kMostMicroseconds || whole < -kMostMicroseconds) return std::nullopt;
  if (end == last) return whole * 1000;
  if (*end != '.' || token.find_first_of("eE") != std::string_view::npos) return find_rounded(token);
  Nanoseconds fraction = 0, unit = 100;
  for (const char* p = end + 1; p != last; ++p, unit /= 10) {
    if (*p < '0' || *p > '9') return std::nullopt;
    fraction += (*p - '0') * unit;
  }
  return token.front() == '-' ? whole * 1000 - fraction : whole * 1000 + fraction;
}

std::string with_quotes_escaped(std::string_view text) {
  std::string fixed;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (inside && text[i] == '\\' && i + 1 < text.size()) {
      fixed += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') {
      const auto next = text.find_first_not_of(" \t\r\n", i + 1);
      const bool ends = next == std::string_view::npos ||
                        std::string_view(",:}]").find(text[next]) != std::string_view::npos;
      if (inside && !ends) fixed += '\\';
      inside = !inside || !ends;
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    fixed += byte < 32 ? ' ' : byte < 127 ? text[i] : '?';
  }
  return fixed;
}

}  // namespace gradwire
