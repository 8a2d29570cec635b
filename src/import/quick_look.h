// Whether one of many words may stand in a text, in one pass and about a nanosecond a letter: lines of other programs, of which
// a log may be full, are passed over at a glance. Of each word the first eight letters count, small or not; at times it says yes
// where none is there. Words have eight letters at least. A value, made at compile time; any thread may look.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gradwire {

template <std::size_t kMostWords>
class QuickLook {
 public:
  constexpr void add(std::string_view word) {
    const Letters letters = letters_of(word);
    words_[count_++] = letters;
    slots_[slot_of(letters) / 64] |= std::uint64_t{1} << (slot_of(letters) % 64);
  }

  bool may_be_in(std::string_view text) const {
    for (std::size_t at = 0; at + sizeof(Letters) <= text.size(); ++at) {
      Letters letters = 0;
      std::memcpy(&letters, text.data() + at, sizeof letters);
      if (has(letters | kSmall)) return true;
    }
    return false;
  }

 private:
  using Letters = std::uint64_t;                         // eight, as they lie in memory
  static constexpr Letters kSmall = 0x2020202020202020;  // what tells small letters from others, set in both

  static constexpr Letters letters_of(std::string_view word) {
    Letters letters = 0;
    for (std::size_t i = 0; i < sizeof(Letters); ++i) {
      const std::size_t at = std::endian::native == std::endian::little ? i : sizeof(Letters) - 1 - i;
      letters |= static_cast<Letters>(static_cast<unsigned char>(word[i])) << (8 * at);
    }
    return letters | kSmall;
  }

  static constexpr std::size_t slot_of(Letters letters) { return (letters * 0x9e3779b97f4a7c15) >> 48; }

  bool has(Letters letters) const {
    const std::size_t slot = slot_of(letters);
    if ((slots_[slot / 64] >> (slot % 64) & 1) == 0) return false;
    const auto end = words_.begin() + static_cast<std::ptrdiff_t>(count_);
    return std::find(words_.begin(), end, letters) != end;
  }

  std::array<Letters, kMostWords> words_{};
  std::size_t count_ = 0;
  std::array<std::uint64_t, 1024> slots_{};  // a bit for each value of slot_of()
};

}  // namespace gradwire
