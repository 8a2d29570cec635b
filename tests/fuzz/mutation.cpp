#include "fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

namespace gradwire {
namespace {

using std::string_view_literals::operator""sv;

class Damage {
 public:
  Damage(std::string bytes, std::uint64_t seed) : bytes_(std::move(bytes)), random_(seed) {}

  std::string done() {
    for (std::size_t wounds = 1 + below(2) * below(4); wounds > 0; --wounds) wound();  // most have one
    return std::move(bytes_);
  }

 private:
  std::size_t below(std::size_t limit) {
    return limit == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }
  template <typename List>
  auto one_of(const List& list) {
    return list[below(list.size())];
  }

  void wound() {
    const std::size_t at = below(bytes_.size());
    switch (below(12)) {
      case 0:
        if (!bytes_.empty()) bytes_[at] = static_cast<char>(bytes_[at] ^ 1 << below(8));
        break;
      case 1:
        if (!bytes_.empty()) bytes_[at] = static_cast<char>(below(256));
        break;
      case 2:
        bytes_.erase(at, 1 + below(40));
        break;
      case 3:
        bytes_.insert(at, bytes_.substr(below(bytes_.size()), 1 + below(200)));
        break;
      case 4:
        bytes_.resize(at);
        break;
      case 5:
        bytes_.insert(at, one_of(kWords));
        break;
      case 6:
      case 7:
      case 8:
        replace_number(at);
        break;
      case 9:
        bytes_.insert(at, repeated());
        break;
      default:
        if (!bytes_.empty()) bytes_[at] = one_of("{}[]()<>\"':,.-+/\\\\\n\t\0 #&*!|=0129eExXnN"sv);
        break;
    }
  }

  // The digits at or after a place.
  void replace_number(std::size_t at) {
    const auto begin = bytes_.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const auto end = std::min(bytes_.find_first_not_of("0123456789.", begin), bytes_.size());
    bytes_.replace(begin, end - begin, one_of(kNumbers));
  }

  // Deep, or long.
  std::string repeated() {
    std::string text;
    const auto piece = one_of(kOpenings);
    for (std::size_t times = one_of(kTimes); times > 0; --times) text += piece;
    return text;
  }

  static constexpr std::array kWords = {"null"sv,     "true"sv,     "NaN"sv,         "Infinity"sv,
                                        "\0"sv,       "\x1b[31m"sv, "\x7f"sv,        "\xc2\x9b"sv,
                                        "\xff\xfe"sv, "\r\n"sv,     "%s%n"sv,        "../../etc/x"sv,
                                        "*a &a"sv,    "<!ENTITY"sv, "\xed\xa0\x80"sv};
  static constexpr std::array kNumbers = {"-1"sv,
                                          "0"sv,
                                          "1e999"sv,
                                          "-0.0"sv,
                                          "4294967296"sv,
                                          "18446744073709551616"sv,
                                          "9223372036854775807"sv,
                                          "1e-320"sv,
                                          "0x10"sv,
                                          "2147483648"sv,
                                          "1000000000"sv,
                                          ""sv};
  static constexpr std::array kOpenings = {"["sv, "{"sv, "(("sv, "{\"a\":"sv, "<a>"sv, "- "sv,
                                           "]"sv, "A"sv, "\n"sv, "\x80"sv,    "0"sv};
  static constexpr std::array<std::size_t, 5> kTimes = {3, 50, 300, 5000, 70000};

  std::string bytes_;
  std::mt19937_64 random_;
};

}  // namespace

std::string mutated(std::string bytes, std::uint64_t seed) { return Damage(std::move(bytes), seed).done(); }

}  // namespace gradwire
