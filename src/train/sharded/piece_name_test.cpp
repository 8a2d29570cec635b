#include "train/sharded/piece_name.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(PieceName, is_read_as_it_is_written) {
  for (const auto& piece : {PieceName{"fc1.weight", {4, 5}, 3, 17}, PieceName{"a[0].b", {7}, 0, 7},
                            PieceName{"scalar", {}, 0, 1}, PieceName{"x", {0, 3}, 0, 0}})
    EXPECT_EQ(find_piece_name(piece_name(piece)), piece);
  EXPECT_EQ(piece_name({"fc1.weight", {4, 5}, 3, 17}), "fc1.weight[4x5][3:17]");
}

TEST(PieceName, is_none_where_a_name_says_what_cannot_be) {
  for (const char* name :
       {"", "fc1.weight", "w[4]", "w[4][5]", "w[4][0:5]", "w[4][3:2]", "w[-4][0:1]", "w[4][0:1:2]",
        "w[4x][0:1]", "[4][0:4]", "w[9223372036854775807x2][0:1]", "w[4][0:99999999999999999999]",
        "w]4[[0:1]", "w[4 ][0:1]", "w[04][0:4]", "w[4][00:4]"})
    EXPECT_FALSE(find_piece_name(name)) << name;
}

TEST(PieceName, of_a_whole_tensor_covers_every_element_once) {
  const auto piece = [](std::int64_t begin, std::int64_t end) { return PieceName{"w", {10}, begin, end}; };
  EXPECT_NO_THROW(check_pieces({piece(4, 10), piece(0, 4)}));
  EXPECT_THAT(
      [&] {
        check_pieces({piece(0, 4), piece(5, 10)});
      },
      ThrowsMessage<ConfigError>(HasSubstr("'w' has elements 4 no times")));
  EXPECT_THAT(
      [&] {
        check_pieces({piece(0, 4), piece(3, 10)});
      },
      ThrowsMessage<ConfigError>(HasSubstr("elements 3 several times")));
  EXPECT_THAT([&] { check_pieces({piece(0, 9)}); },
              ThrowsMessage<ConfigError>(HasSubstr("ends after 9 elements: a part is missing")));
  EXPECT_THAT(
      [&] {
        check_pieces({piece(0, 4), PieceName{"w", {2, 5}, 4, 10}});
      },
      ThrowsMessage<ConfigError>(HasSubstr("parts of different shapes")));
}

}  // namespace
}  // namespace gradwire
