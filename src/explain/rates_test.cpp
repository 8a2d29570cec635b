// What tables of nccl-tests say of a machine.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

std::string row(const char* bytes, const char* time, const char* busbw) {
  return std::string(bytes) + " 4 float sum -1 " + time + " " + busbw + " " + busbw + " 0 " + time + " " +
         busbw + " " + busbw + " 0\n";
}

Diagnosis diagnosis_of_table(const std::string& text) {
  Gathered files;
  files.tables.push_back(parse_nccl_tests(text, "tests.txt"));
  return diagnose(make_case(std::move(files), "2x-rtx3090-nvlink"));
}

const std::string kHead =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20\n";

TEST(Rates, are_not_judged_by_sizes_whose_time_is_latency) {
  const auto cut = diagnosis_of_table(kHead + row("8", "10.1", "0.00") + row("16", "10.2", "0.00"));
  EXPECT_TRUE(cut.findings.empty()) << cut.findings[0].what;
  ASSERT_EQ(cut.hints.size(), 1u);
  EXPECT_NE(cut.hints[0].what.find("partial, it ends at 16 B of the 128 MiB"), std::string::npos)
      << cut.hints[0].what;
}

TEST(Rates, of_a_partial_sweep_are_judged_where_they_mean_something) {
  const auto partial =
      diagnosis_of_table(kHead + row("8", "10.1", "0.00") + row("33554432", "10922", "3.07"));
  EXPECT_EQ(first_rule(partial), "R11");
  EXPECT_EQ(partial.hints.size(), 1u);
  const auto whole = diagnosis_of_table(kHead + row("134217728", "43690", "3.07"));
  EXPECT_EQ(first_rule(whole), "R11");
  EXPECT_TRUE(whole.hints.empty());
}

TEST(Rates, do_not_matter_where_values_are_wrong) {
  const std::string slow = kHead + row("134217728", "43690", "3.07");
  EXPECT_EQ(first_rule(diagnosis_of_table(slow)), "R11");
  const auto wrong = diagnosis_of_table(slow + "# Out of bounds values : 12 FAILED\n");
  ASSERT_EQ(wrong.findings.size(), 1u);
  EXPECT_EQ(first_rule(wrong), "R12");
  EXPECT_EQ(wrong.findings[0].evidence, "tests.txt:3: Out of bounds values");
  EXPECT_EQ(first_rule(diagnosis_of_table(kHead + row("134217728", "4369", "30.7") +
                                          "# Out of bounds values : 0 OK\n")),
            "");
}

}  // namespace
}  // namespace gradwire
