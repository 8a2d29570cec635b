#include "explain/own_measurements.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "support/error_of.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

OwnMeasurements in(std::string_view text, int ranks = 2) {
  OwnMeasurements all;
  add_measurements(text, "told.txt", ranks, all);
  return all;
}

// busbw of an all-reduce is 2(n-1)/n of algbw: 1.5 of four ranks.
constexpr const char* kFourRanks =
    R"(#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    500.0    2.10    3.15      0    500.0    2.10    3.15      0
)";

TEST(OwnMeasurements, of_nccl_tests_tell_their_ranks_by_the_ratio_of_both_rates) {
  const auto all = in(kFourRanks);
  ASSERT_EQ(all.sweeps.size(), 1u);
  EXPECT_EQ(all.sweeps[0].ranks, 4);
  EXPECT_THAT(all.sweeps[0].rows, ElementsAre(std::pair<Bytes, Seconds>(1048576, 500e-6)));
  EXPECT_THAT(all.files, ElementsAre("told.txt"));
}

TEST(OwnMeasurements, of_two_columns_are_of_the_ranks_that_are_said) {
  const auto rate = in("bytes busbw\n1000000000 3\n", 4), time = in("bytes us\n1M 250\n");
  EXPECT_DOUBLE_EQ(rate.sweeps.at(0).rows.at(0).second, 0.5);
  EXPECT_EQ(rate.sweeps[0].ranks, 4);
  EXPECT_DOUBLE_EQ(time.sweeps.at(0).rows.at(0).second, 250e-6);
}

TEST(OwnMeasurements, of_copies_one_way_count_as_so_many_both_ways) {
  const auto all = in(R"(Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 831.56  10.00
     1  10.00 834.67
)");
  ASSERT_EQ(all.copies.size(), 1u);
  EXPECT_DOUBLE_EQ(all.copies[0].gbps, 18);
  EXPECT_TRUE(all.copies[0].staged);
}

std::string refusal_of(const char* text) {
  return error_of([&] { in(text); });
}

TEST(OwnMeasurements, are_no_file_of_another_kind_which_is_named) {
  EXPECT_THAT(refusal_of("n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"),
              HasSubstr("told.txt: this is a log of NCCL, which tells no times: --measured takes"));
  EXPECT_THAT(refusal_of("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"),
              HasSubstr("this is nvidia-smi topo -m"));
  EXPECT_THAT(refusal_of("it was slow\n"), HasSubstr("neither output of nccl-tests"));
}

TEST(OwnMeasurements, of_nccl_tests_tell_the_gpu_they_were_made_on) {
  const auto all = in((std::string("#  Rank  0 Group  0 Pid  1 on  box device  0 [0x1a] NVIDIA A40\n"
                                   "#  Rank  1 Group  0 Pid  1 on  box device  1 [0x1b] NVIDIA A40\n"
                                   "#  Rank  2 Group  0 Pid  1 on  box device  2 [0x1c] NVIDIA A40\n"
                                   "#  Rank  3 Group  0 Pid  1 on  box device  3 [0x1d] NVIDIA A40\n") +
                       kFourRanks));
  EXPECT_EQ(all.sweeps.at(0).gpu, "NVIDIA A40");
}

TEST(OwnMeasurements, of_a_bench_without_nccl_are_refused_by_name) {
  constexpr const char* kBench =
      R"({"rows":[{"backend":"shm","collective":"all_reduce","ranks":2,"bytes":1024,"time_us":3.5}]})";
  EXPECT_THAT([] { in(kBench); }, ThrowsMessage<ConfigError>(HasSubstr("told.txt: ")));
}

}  // namespace
}  // namespace gradwire
