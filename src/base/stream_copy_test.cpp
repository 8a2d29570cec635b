#include "base/stream_copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace gradwire {
namespace {

TEST(StreamCopy, copies_any_size_at_any_alignment_and_nothing_beside_it) {
  std::vector<std::byte> source(1000), target(1000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
  for (std::size_t bytes = 0; bytes < 300; bytes += bytes < 20 ? 1 : 13)
    for (std::size_t to = 0; to < 70; to += 3)
      for (std::size_t from = 0; from < 20; from += 5) {
        std::fill(target.begin(), target.end(), std::byte{0});
        stream_copy(target.data() + 64 + to, source.data() + from, bytes);
        for (std::size_t i = 0; i < target.size(); ++i) {
          const bool inside = i >= 64 + to && i < 64 + to + bytes;
          ASSERT_EQ(target[i], inside ? source[from + i - 64 - to] : std::byte{0})
              << bytes << " bytes, byte " << i;
        }
      }
}

}  // namespace
}  // namespace gradwire
