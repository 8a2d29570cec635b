#include "sched/layout.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(Layout, divides_elements_evenly_and_without_gaps) {
  const Layout layout({{3, 0, 0}}, 8, 4);  // 8 elements in 3 chunks: 2, 3 and 3
  EXPECT_EQ(layout.bytes(out(0)), 8u);
  EXPECT_EQ(layout.bytes(out(1)), 12u);
  EXPECT_EQ(layout.bytes(out(2)), 12u);
  EXPECT_EQ(layout.offset(out(1)), 8u);
  EXPECT_EQ(layout.offset(out(2)), 20u);
  EXPECT_EQ(layout.bytes(out(0, 3)), 32u);
}

TEST(Layout, leaves_chunks_empty_when_there_are_more_than_elements) {
  const Layout layout({{4, 0, 0}}, 1, 8);
  EXPECT_EQ(layout.bytes(out(0)), 0u);
  EXPECT_EQ(layout.bytes(out(3)), 8u);
  EXPECT_EQ(layout.bytes(out(0, 4)), 8u);
}

TEST(Layout, gives_in_and_out_of_different_length_the_same_chunks) {
  const Layout layout({{2, 6, 0}}, 15, 1);  // reduce_scatter over 3 ranks, 5 elements each, in 2 pieces
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(layout.offset(in(2 * rank)), 5u * static_cast<unsigned>(rank));
    for (int piece = 0; piece < 2; ++piece)
      EXPECT_EQ(layout.bytes(in(2 * rank + piece)), layout.bytes(out(piece)));
  }
}

TEST(Layout, makes_every_place_in_scratch_large_enough_for_any_chunk) {
  const Layout layout({{3, 0, 2}}, 50, 4);  // chunks of 16, 17 and 17 elements: 68 bytes, 128 with alignment
  EXPECT_EQ(layout.scratch_bytes(), 256u);
  EXPECT_EQ(layout.offset(scratch(1, 2)), 128u);
  EXPECT_EQ(layout.bytes(scratch(1, 0)), 64u);
  EXPECT_EQ(layout.bytes(scratch(1, 2)), 68u);
}

TEST(Layout, counts_beyond_32_bits) {
  const Layout layout({{1 << 15, 0, 0}}, 3ull << 32, 4);
  EXPECT_EQ(layout.offset(out((1 << 15) - 1)) + layout.bytes(out((1 << 15) - 1)), 12ull << 32);
}

}  // namespace
}  // namespace gradwire
