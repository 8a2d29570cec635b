#include "import/nccl_tests.h"

#include <gtest/gtest.h>

#include "import/file_kind.h"

namespace gradwire {
namespace {

TEST(NcclTests, gives_busbw_by_size) {
  const auto table = parse_nccl_tests(
      "#  Rank  0 Group  0 Pid 1 on a device  0 [0000:06:00] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid 1 on b device  0 [0000:06:00] NVIDIA H100 80GB HBM3\n"
      "  1073741824     268435456     float     sum      -1    71024   15.12   15.12      0    70967   15.13 "
      "  15.13      0\n"
      "       65536         16384     float     sum    97.96    0.67    1.25  2e-07    97.36    0.67    1.26 "
      " 2e-07\n",
      "t");
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.hosts, 2);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].busbw_gbps, 15.12);
  EXPECT_EQ(table.rows[0].time_us, 71024);
  EXPECT_EQ(table.rows[1].busbw_gbps, 1.25);
}

TEST(NcclTests, takes_the_inspectors_lines_too) {
  const auto table = parse_inspector(
      "{\"header\": {\"rank\": 0, \"n_ranks\": 8}, \"coll_perf\": {\"coll\": \"AllReduce\", "
      "\"coll_msg_size_bytes\": 1048576, "
      "\"coll_exec_time_us\": 100, \"coll_busbw_gbs\": 18.3}}\nnot json\n{\"coll_perf\": {\"coll\": "
      "\"Broadcast\"}}\n",
      "i");
  EXPECT_EQ(table.ranks, 8);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].busbw_gbps, 18.3);
}

const std::string kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n";

TEST(NcclTests, count_the_wrong_values_of_a_row) {
  const auto wrong_line = [](const std::string& heading, const char* cells) {
    return parse_nccl_tests(heading + "  1048576  262144  " + cells + "\n", "t").wrong_line;
  };
  EXPECT_EQ(wrong_line(kHeading, "float  sum  -1  100.0  10.49  18.35  0  100.0  10.49  18.35  0"), 0);
  EXPECT_EQ(wrong_line(kHeading, "float  sum  -1  100.0  10.49  18.35  7  100.0  10.49  18.35  0"), 2);
  EXPECT_EQ(wrong_line(kHeading, "float  sum  -1  100.0  10.49  18.35  0  100.0  10.49  18.35  7"), 2);
  EXPECT_EQ(wrong_line(kHeading, "float  sum  -1  100.0  10.49  18.35  N/A  100.0  10.49  18.35  N/A"), 0);
  EXPECT_EQ(wrong_line("", "float  sum  -1  100.0  10.49  18.35  7  100.0  10.49  18.35  0"), 0);
  EXPECT_EQ(parse_nccl_tests(kHeading + "8  2  float  sum  -1  9.1  0.00  0.00  2  9.1  0.00  0.00  0\n", "t")
                .wrong_words,
            "#wrong 2 at 8 B");
}

TEST(NcclTests, of_old_tell_by_how_much_the_worst_value_is_off) {
  const auto wrong_line = [](const char* type, const char* error) {
    return parse_nccl_tests(
               std::string(
                   "# size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
                   "65536  16384  ") +
                   type + "  sum  97.96  0.67  1.25  2e-07  97.36  0.67  1.26  " + error + "\n",
               "t")
        .wrong_line;
  };
  EXPECT_EQ(wrong_line("float", "5e-07"), 0);
  EXPECT_EQ(wrong_line("float", "1e+00"), 2);
  EXPECT_EQ(wrong_line("half", "1e-02"), 0);
  EXPECT_EQ(wrong_line("float", "N/A"), 0);
}

TEST(NcclTests, know_which_collective_they_time) {
  const auto test = [](const std::string& heading, const char* reduction) {
    return parse_nccl_tests(heading + "[1,0]<stdout>:  1048576  262144  float  " + reduction +
                                "  -1  100.0  10.49  18.35  0  100.0  10.49  18.35  0\n",
                            "t");
  };
  EXPECT_EQ(test("", "sum").collective, Collective::all_reduce);
  EXPECT_EQ(test("", "none").collective, std::nullopt);
  const auto gather = test("$ mpirun -np 8 ./build/all_gather_perf -b 8 -e 1G\n", "none");
  EXPECT_EQ(gather.collective, Collective::all_gather);
  ASSERT_EQ(gather.rows.size(), 1u);
  EXPECT_EQ(gather.rows[0].busbw_gbps, 18.35);
}

TEST(NcclTests, are_known_by_their_rows_and_without_a_launchers_marks) {
  std::string rows;
  for (const char* size : {"1048576", "2097152", "4194304"})
    rows +=
        "[0]      " + std::string(size) +
        "        262144     float     sum      -1[0]    162.5    6.40    12.24      0[0]    162.3    6.46    "
        "12.30      0\n";
  EXPECT_EQ(kind_of(rows), FileKind::nccl_tests);
  const auto table = parse_nccl_tests(rows, "t");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[2].busbw_gbps, 12.24);
  EXPECT_NE(kind_of("1 2 3 4 5 6 7 8\n1 2 3 4 5 6 7 8\n1 2 3 4 5 6 7 8\n"), FileKind::nccl_tests);
}

}  // namespace
}  // namespace gradwire
