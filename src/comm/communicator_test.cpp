#include "comm/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "comm/messages.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

std::string refusal(const Call& call, int world) {
  try {
    check_call(call, world, 0);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

class CheckCall : public testing::Test {
 protected:
  std::array<std::byte, 96> memory_{};
  std::span<std::byte> part(std::size_t first, std::size_t bytes) {
    return std::span(memory_).subspan(first, bytes);
  }
};

TEST_F(CheckCall, gives_a_signature_that_shows_what_the_rank_is_doing) {
  Call call = all_reduce(part(0, 8), DType::f32, Reduction::max);
  call.tag = 7;
  EXPECT_EQ(describe(check_call(call, 2, 17)), "call 17: all_reduce of 8 bytes, f32, max, tag 7");
}

TEST_F(CheckCall, refuses_part_of_an_element) {
  EXPECT_THAT(refusal(all_reduce(part(0, 7), DType::f32), 2),
              HasSubstr("not a whole number of f32 elements"));
}

TEST_F(CheckCall, refuses_a_root_that_is_no_rank) {
  EXPECT_THAT(refusal(broadcast(part(0, 8), DType::f32, 2), 2), HasSubstr("root 2 is not a rank of 0..1"));
  EXPECT_THAT(refusal(reduce(part(0, 8), DType::f32, Reduction::sum, -1), 2), HasSubstr("root -1"));
}

TEST_F(CheckCall, refuses_buffers_whose_sizes_do_not_fit_the_world) {
  EXPECT_THAT(refusal(reduce_scatter(part(0, 24), part(24, 8), DType::f32), 2),
              HasSubstr("in must be 2 times out"));
  EXPECT_THAT(refusal(all_gather(part(0, 8), part(8, 24), DType::f32), 2),
              HasSubstr("out must be 2 times in"));
  EXPECT_THAT(refusal(all_to_all(part(0, 12), part(12, 12), DType::f32), 2),
              HasSubstr("multiple of 2 parts"));
}

TEST_F(CheckCall, refuses_buffers_that_overlap_by_half_and_accepts_those_in_place) {
  Call call = all_reduce(part(0, 16), DType::f32);
  call.in = part(4, 16);
  EXPECT_THAT(refusal(call, 2), HasSubstr("overlap"));
  EXPECT_EQ(refusal(all_gather(part(8, 8), part(0, 16), DType::f32), 2), "accepted");
  EXPECT_THAT(refusal(all_to_all(part(0, 16), part(0, 16), DType::f32), 2), HasSubstr("overlap"));
}

TEST_F(CheckCall, accepts_empty_buffers_everywhere) {
  for (const Call& call :
       {all_reduce({}, DType::f64), reduce_scatter({}, {}, DType::i8), all_gather({}, {}, DType::f16),
        broadcast({}, DType::u8, 0), all_to_all({}, {}, DType::i64), barrier(), gather({}, {}, DType::f32, 2),
        scatter({}, {}, DType::f32, 0), send({}, 1), recv({}, 2), exchange({})})
    EXPECT_EQ(refusal(call, 3), "accepted");
}

TEST_F(CheckCall, refuses_messages_with_nobody_or_of_nothing) {
  EXPECT_THAT(refusal(send(part(0, 8), 2), 2), HasSubstr("peer 2 is not a rank of 0..1"));
  EXPECT_THAT(refusal(exchange({{.peer = 1}}), 2),
              HasSubstr("a message with rank 1 neither sends nor receives"));
}

TEST_F(CheckCall, refuses_parts_that_do_not_make_the_buffer) {
  const Call gathers = all_gather(part(0, 8), part(8, 24), DType::f32);
  EXPECT_EQ(refusal(with_parts(gathers, {.out = {8, 16}}), 2), "accepted");
  EXPECT_THAT(refusal(with_parts(gathers, {.out = {8}}), 2), HasSubstr("1 parts are given for 2 ranks"));
  EXPECT_THAT(refusal(with_parts(gathers, {.out = {8, 12}}), 2), HasSubstr("leave 4 of 24 bytes over"));
  EXPECT_THAT(refusal(with_parts(gathers, {.out = {8, 20}}), 2), HasSubstr("more than the 24 bytes"));
  EXPECT_THAT(refusal(with_parts(gathers, {.out = {6, 18}}), 2), HasSubstr("a part of 6 bytes"));
  EXPECT_THAT(refusal(with_parts(all_to_all(part(0, 8), part(8, 8), DType::f32), {.in = {0, 8}}), 2),
              HasSubstr("both in's and out's are needed"));
}

TEST_F(CheckCall, leaves_it_to_each_rank_to_know_its_own_part) {
  const Call gathers = with_parts(all_gather(part(0, 8), part(8, 24), DType::f32), {.out = {8, 16}});
  EXPECT_EQ(spell_out(gathers, 0, 2).messages.size(), 2u);
  EXPECT_THROW(spell_out(gathers, 1, 2), ConfigError);
}

}  // namespace
}  // namespace gradwire
