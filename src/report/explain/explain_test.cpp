#include "report/explain/explain.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/render.h"

namespace gradwire {
namespace {

RunAnalysis small_analysis() {
  RunAnalysis analysis;
  AnalyzedRank rank;
  rank.steps = 2;
  rank.summary.mean.parts.forward = 0.02;
  rank.summary.mean.parts.backward = 0.04;
  rank.summary.mean.parts.comm_exposed = 0.03;
  rank.summary.mean.idle = 0.01;
  analysis.ranks = {rank, rank};
  analysis.ranks[1].summary.rank = 1;
  CollectiveRow row;
  row.collective.word = "all_\x1b[31mreduce";
  row.bytes = 25 << 20;
  row.count = 4;
  row.time = row.transfer = 0.004;
  row.busbw_gbps = 6.5;
  row.expected_busbw_gbps = 43;
  analysis.collectives = {row};
  analysis.verdict.bottleneck = Bottleneck::communication_intra;
  analysis.verdict.reason =
      "30.0 ms of a 100.0 ms step are communication inside the node that no computing hides";
  analysis.notes = {"a note with a \x07 bell"};
  return analysis;
}

void expect_fit_for_a_terminal(const std::string& text) {
  for (const auto line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
}

TEST(AnalysisReport, shows_verdict_step_ranks_and_collectives_in_eighty_columns) {
  const auto text = to_text(analysis_report(small_analysis()));
  expect_fit_for_a_terminal(text);
  EXPECT_TRUE(text.starts_with("communication_intra: 30.0 ms of a 100.0 ms step")) << text;
  for (const char* part :
       {"A step of 100.000 ms", "communication exposed", "25 MiB", "43.00", "note: a note"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(AnalysisReport, has_the_names_scripts_rely_on) {
  const auto json = analysis_report(small_analysis()).data;
  EXPECT_EQ(json["verdict"]["bottleneck"], "communication_intra");
  for (const char* name : {"data", "forward", "backward", "comm_overlapped", "comm_exposed", "optimizer",
                           "other", "copies", "idle"})
    EXPECT_TRUE(json["ranks"][0]["breakdown_ms"].contains(name)) << name;
  for (const char* name : {"span", "compute", "comm", "overlap", "idle"})
    EXPECT_TRUE(json["ranks"][1]["gpu_ms"].contains(name)) << name;
}

TEST(DiagnosisReport, shows_what_was_seen_what_it_costs_and_how_to_mend_it) {
  Diagnosis diagnosis;
  Finding finding;
  finding.rule = "R06";
  finding.what = "NCCL_P2P_LEVEL=LOC keeps GPUs from reaching each other";
  finding.evidence = "run.log:3: \x1b[0m";
  finding.cost_ms = 12.5;
  finding.fix = "unset NCCL_P2P_LEVEL";
  diagnosis.findings = {finding};
  const auto text = to_text(diagnosis_report(diagnosis));
  expect_fit_for_a_terminal(text);
  EXPECT_NE(text.find("costs  12.5 ms a step"), std::string::npos) << text;
  EXPECT_EQ(diagnosis_report(diagnosis).data["findings"][0]["cost_ms"], 12.5);
  EXPECT_EQ(diagnosis_report({}).data["nvlink"]["used"], "unknown");
  EXPECT_NE(to_text(diagnosis_report({})).find("Nothing wrong was found"), std::string::npos);
}

TEST(DiagnosisReport, does_not_say_that_nothing_is_wrong_above_hints) {
  Diagnosis diagnosis;
  diagnosis.hints.resize(2);
  EXPECT_TRUE(
      to_text(diagnosis_report(diagnosis)).starts_with("Nothing is proved wrong; 2 hints are below."));
  diagnosis.hints.resize(1);
  EXPECT_TRUE(to_text(diagnosis_report(diagnosis)).starts_with("Nothing is proved wrong; a hint is below."));
}

TEST(DiagnosisReport, notes_what_is_wrong_with_a_file_that_was_used) {
  Diagnosis diagnosis;
  diagnosis.notes = {"rank0.json: the file is cut off"};
  EXPECT_NE(to_text(diagnosis_report(diagnosis)).find("note: rank0.json: the file is cut off"),
            std::string::npos);
  EXPECT_EQ(diagnosis_report(diagnosis).data["notes"].size(), 1u);
}

TEST(WhatIfReport, fits_a_terminal_with_long_names_and_long_steps) {
  for (const double step : {0.0681, 0.98765, 123.4567}) {
    WhatIfs found{.step = step, .exposed = step / 2, .ranks_here = 1, .world = 2, .rows = {}, .missing = {}};
    found.rows.push_back(
        {"nvswitch", "16x-rtx-pro-6000-with-a-long-name-nvswitch", 0.9 * step, step / 3, 0.13, step});
    found.rows.push_back({"nvlink", "2x-v100-sxm-nvlink", 0.9 * step, step / 3, 0.13, step});
    const std::string text = to_text(what_if_report(found));
    for (const auto line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_NE(text.find("  2x-v100-sxm-nvlink "), std::string::npos) << text;
  }
}

TEST(DiagnosisReport, says_first_that_a_machine_has_no_gpu) {
  Diagnosis diagnosis;
  diagnosis.no_gpu = "there is no NVIDIA GPU on this machine (NVML is not installed)";
  const Report report = diagnosis_report(diagnosis);
  EXPECT_TRUE(to_text(report).starts_with("There is no NVIDIA GPU on this machine"));
  EXPECT_EQ(report.data["no_gpu"], diagnosis.no_gpu);
  EXPECT_TRUE(diagnosis_report({}).data["no_gpu"].is_null());
}

}  // namespace
}  // namespace gradwire
