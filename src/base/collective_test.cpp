#include "base/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

TEST(Names, are_read_back_as_what_they_name) {
  for (int i = 0; i < kCollectives; ++i)
    EXPECT_EQ(parse_collective(name_of(static_cast<Collective>(i))), static_cast<Collective>(i));
  for (int i = 0; i < kDTypes; ++i)
    EXPECT_EQ(parse_dtype(name_of(static_cast<DType>(i))), static_cast<DType>(i));
  for (int i = 0; i < kReductions; ++i)
    EXPECT_EQ(parse_reduction(name_of(static_cast<Reduction>(i))), static_cast<Reduction>(i));
}

TEST(Names, that_are_unknown_are_refused_with_a_list_of_those_there_are) {
  try {
    parse_dtype("float");
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'float' is not a type"));
    EXPECT_THAT(error.what(), HasSubstr("f32, f64, f16, bf16, i8, u8, i32, i64"));
  }
  EXPECT_THROW(parse_collective("unknown"), ConfigError);
  EXPECT_THROW(parse_reduction(""), ConfigError);
}

TEST(Sizes, of_types_are_what_their_names_say) {
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(name_of(dtype));
    EXPECT_EQ(size_of(dtype) * 8, std::stoul(name.substr(name.find_first_of("0123456789"))));
  }
}

TEST(Signature, keeps_type_and_reduction_apart) {
  for (int type = 0; type < kDTypes; ++type)
    for (int reduction = 0; reduction < kReductions; ++reduction) {
      Signature call;
      call.type_and_reduction = Signature::pack(static_cast<DType>(type), static_cast<Reduction>(reduction));
      EXPECT_EQ(call.dtype(), static_cast<DType>(type));
      EXPECT_EQ(call.reduction(), static_cast<Reduction>(reduction));
    }
}

Signature all_reduce_of(Bytes bytes) {
  return {.sequence = 17,
          .bytes = bytes,
          .tag = 3,
          .root = 0,
          .kind = Collective::all_reduce,
          .type_and_reduction = Signature::pack(DType::f32, Reduction::sum)};
}

TEST(Describe, says_what_matters_to_the_kind_of_call) {
  EXPECT_EQ(describe(all_reduce_of(4096)), "call 17: all_reduce of 4096 bytes, f32, sum, tag 3");
  Signature call = all_reduce_of(8);
  call.kind = Collective::broadcast;
  call.root = 2;
  call.tag = 0;
  EXPECT_EQ(describe(call), "call 17: broadcast of 8 bytes, f32, root 2");
  call.kind = Collective::gather;
  EXPECT_EQ(describe(call), "call 17: gather of 8 bytes, f32, root 2");
  call.kind = Collective::barrier;
  EXPECT_EQ(describe(call), "call 17: barrier");
  call.kind = Collective::send;
  call.tag = 7;
  EXPECT_EQ(describe(call), "a message of 8 bytes, tag 7");
}

TEST(Describe, of_a_mismatch_shows_both_sides) {
  const std::string text = describe_mismatch(0, all_reduce_of(4096), 2, all_reduce_of(8192));
  EXPECT_THAT(text, HasSubstr("rank 0 is in call 17: all_reduce of 4096 bytes"));
  EXPECT_THAT(text, HasSubstr("rank 2 is in call 17: all_reduce of 8192 bytes"));
}

TEST(BusFactor, is_that_of_nccl_tests) {
  EXPECT_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  EXPECT_EQ(bus_factor(Collective::all_gather, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::scatter, 4), 0.75);
  EXPECT_EQ(bus_factor(Collective::broadcast, 4), 1);
}

TEST(Describe, survives_bytes_that_came_from_anywhere) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::array<std::uint32_t, 6> bytes;
    for (auto& word : bytes) word = static_cast<std::uint32_t>(random());
    const std::string text = describe(std::bit_cast<Signature>(bytes));
    EXPECT_THAT(text, AnyOf(HasSubstr("call "), HasSubstr("a message of ")));
    EXPECT_THAT(text, Not(HasSubstr(std::string(1, '\0'))));
  }
  Signature worst;
  std::memset(static_cast<void*>(&worst), 0xff, sizeof worst);
  EXPECT_THAT(describe(worst), HasSubstr("unknown"));
}

}  // namespace
}  // namespace gradwire
