// What the notes of a watched run add to its trace.
#include <gtest/gtest.h>

#include <algorithm>

#include "explain/case_file.h"
#include "explain/trace_fixture.h"
#include "explain/what_if.h"

namespace gradwire {
namespace {

WatchNotes notes_of_rank(int rank) {
  WatchNotes notes;
  notes.file = "seen/notes_rank" + std::to_string(rank) + ".json";
  notes.rank = rank;
  notes.world = 2;
  notes.profiled_ms = 10;
  notes.cores = 4;
  notes.threads = 1;
  notes.ddp.emplace();
  return notes;
}

std::string first_rule_of(const Diagnosis& diagnosis) {
  return diagnosis.findings.empty() ? "" : diagnosis.findings[0].rule;
}

Diagnosis diagnosis_with(const SampleTrace& trace, const WatchNotes& notes) {
  Gathered files;
  files.profiles.push_back(trace.profile());
  files.notes.push_back(notes);
  return diagnose(make_case(std::move(files), ""));
}

TEST(WatchedRun, names_the_rank_whose_threads_wait_for_a_core) {
  CaseFile given;
  given.files.notes = {notes_of_rank(0), notes_of_rank(1)};
  given.files.notes[0].waited_ms = 0.2;
  given.files.notes[1].waited_ms = 4.0;
  const auto diagnosis = diagnose(given);
  ASSERT_EQ(first_rule_of(diagnosis), "R41");
  EXPECT_TRUE(diagnosis.findings[0].what.starts_with("a thread of rank 1 waits 4.0 ms of a 10.0 ms step"));
  EXPECT_EQ(diagnosis.findings[0].cost_ms, 4.0);
}

TEST(WatchedRun, takes_a_little_waiting_for_granted) {
  CaseFile given;
  given.files.notes = {notes_of_rank(0)};
  given.files.notes[0].waited_ms = 1.0;
  EXPECT_TRUE(diagnose(given).findings.empty());
}

SampleTrace searching_trace() {
  SampleTrace trace;
  trace.distributed(0, 2).step(0, 0, 10000);
  trace.host("cpu_op", "aten::mm", 10, 8000);
  trace.host("cpu_op", "torch.distributed.ddp.reducer::search_unused_parameters", 8100, 100);
  trace.host("user_annotation", "gloo:all_reduce", 8500, 1000, 9,
             R"("Input Dims": [[6]], "Input type": ["int"])");
  return trace;
}

TEST(WatchedRun, prices_the_search_for_unused_parameters_with_the_map_that_is_sent) {
  WatchNotes notes = notes_of_rank(0);
  notes.ddp->find_unused_parameters = true;
  notes.ddp->unused_parameters = 0;
  notes.ddp->tensors = 6;
  const auto diagnosis = diagnosis_with(searching_trace(), notes);
  ASSERT_EQ(first_rule_of(diagnosis), "R25");
  EXPECT_EQ(diagnosis.findings[0].severity, Severity::high);
  EXPECT_NEAR(*diagnosis.findings[0].cost_ms, 1.1, 1e-6);
}

TEST(WatchedRun, has_nothing_against_a_search_that_finds_something) {
  WatchNotes notes = notes_of_rank(0);
  notes.ddp->find_unused_parameters = true;
  notes.ddp->unused_parameters = 4096;
  EXPECT_NE(first_rule_of(diagnosis_with(searching_trace(), notes)), "R25");
}

TEST(WatchedRun, prices_communication_under_computing_by_what_computing_waited_for_its_core) {
  SampleTrace trace;
  trace.distributed(0, 2).step(0, 0, 10000);
  for (int micro = 0; micro < 4; ++micro) {
    trace.host("user_annotation", "DistributedDataParallel.forward", micro * 2000.0, 900);
    trace.host("cpu_op", "aten::mm", micro * 2000.0, 1450);
    trace.host("user_annotation", "gloo:all_reduce", micro * 2000.0 + 1000, 900,
               9);  // half of it under computing
  }
  trace.host("user_annotation", "Optimizer.step#SGD.step", 9000, 500);
  WatchNotes notes = notes_of_rank(0);
  notes.waited_ms = 0.6;
  const auto cost = [&](int cores) {
    notes.cores = cores;
    return *diagnosis_with(trace, notes).findings.at(0).cost_ms;
  };
  EXPECT_NEAR(cost(4), 4 * 0.45 * 3 / 4, 1e-6);  // three of the four are not needed
  EXPECT_NEAR(cost(1), (4 * 0.45 + 0.6) * 3 / 4, 1e-6);
}

TEST(WatchedRun, prices_communication_as_it_is_where_nothing_is_traced) {
  SampleTrace trace;
  trace.distributed(0, 2).step(0, 0, 10000);
  for (int micro = 0; micro < 4; ++micro) {
    trace.host("user_annotation", "DistributedDataParallel.forward", micro * 2000.0, 400);
    trace.host("cpu_op", "aten::mm", micro * 2000.0, 900);
    trace.host("user_annotation", "gloo:all_reduce", micro * 2000.0 + 1000, 900, 9);
  }
  trace.host("user_annotation", "Optimizer.step#SGD.step", 9000, 500);
  WatchNotes notes = notes_of_rank(0);
  const double traced = *diagnosis_with(trace, notes).findings.at(0).cost_ms;
  notes.after_ms = 8;
  EXPECT_NEAR(*diagnosis_with(trace, notes).findings.at(0).cost_ms, traced * 0.8, 1e-6);
}

TEST(WatchedRun, prices_buffers_until_the_model_begins) {
  SampleTrace trace;
  trace.distributed(0, 2).step(0, 0, 10000);
  trace.host("user_annotation", "DistributedDataParallel.forward", 100, 5000);
  trace.host("cpu_op", "aten::flatten_dense_tensors", 300, 100);
  trace.host("cpu_op", "c10d::broadcast_", 420, 10);
  trace.host("user_annotation", "gloo:broadcast", 440, 300, 9);
  trace.host("cpu_op", "aten::copy_", 900, 50);
  trace.host("cpu_op", "aten::linear", 1100, 8000);
  const auto diagnosis = diagnosis_with(trace, notes_of_rank(0));
  ASSERT_EQ(first_rule_of(diagnosis), "R27");
  EXPECT_NEAR(*diagnosis.findings[0].cost_ms, 1.0, 1e-6);
}

SampleTrace run_on_gpus() {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2, "NVIDIA A100-SXM4-80GB");
  for (int step = 0; step < 3; ++step) {
    const double begin = step * 100000.0;
    trace.step(step, begin, 100000);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 2, 20);
    trace.kernel(begin + 10, 50000).all_reduce(begin + 50100, 40000, 25 << 20);
  }
  return trace;
}

TEST(WhatIf, puts_the_run_on_other_links_with_its_computing_as_measured) {
  Gathered files;
  files.profiles.push_back(run_on_gpus().profile());
  const auto found = what_if(make_case(std::move(files), ""), {"nvlink", "pcie"});
  ASSERT_EQ(found.rows.size(), 4u) << (found.missing.empty() ? "" : found.missing[0]);
  const WhatIf &nvlink = found.rows[0], &pcie = found.rows[1], &twice = found.rows[2];
  EXPECT_LT(nvlink.step, pcie.step);
  EXPECT_LT(nvlink.step, found.step);
  EXPECT_GE(nvlink.step, 0.050);  // what it computes stays
  EXPECT_GT(nvlink.relative_error, 0);
  EXPECT_EQ(twice.what, "accumulate 2");
  EXPECT_NEAR(twice.exposed, found.exposed / 2, 1e-9);
}

TEST(WhatIf, leaves_collectives_that_are_no_gradients_as_they_were) {
  SampleTrace trace = run_on_gpus();
  for (int step = 0; step < 3; ++step)
    trace.gpu("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", step * 100000.0 + 92000,
              5000, 20);
  Gathered files;
  files.profiles.push_back(trace.profile());
  const auto found = what_if(make_case(std::move(files), ""), {"nvlink"});
  ASSERT_EQ(found.rows.size(), 3u);
  EXPECT_GE(found.rows[0].exposed, 0.005 - 1e-9);
  EXPECT_GE(found.rows[0].step, 0.055 - 1e-9);
}

TEST(WhatIf, says_why_links_of_gpus_have_no_part_in_a_run_on_processors) {
  Gathered files;
  files.profiles.push_back(searching_trace().profile());
  const auto found = what_if(make_case(std::move(files), ""), {"nvlink", "pcie"});
  ASSERT_EQ(found.missing.size(), 1u);
  EXPECT_TRUE(found.missing[0].starts_with("this run computes on processors"));
}

TEST(WhatIf, prices_what_a_log_says_against_the_machine) {
  Gathered files;
  files.profiles.push_back(run_on_gpus().profile());
  const std::string lines = "n:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n";
  ByteSource source{std::string_view(lines)};
  files.logs.push_back(read_nccl_log(source, "run.log"));
  const auto diagnosis = diagnose(make_case(std::move(files), "2x-a100-nvlink"));
  ASSERT_FALSE(diagnosis.findings.empty());
  const auto priced = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                   [](const Finding& one) { return one.rule == "R06"; });
  ASSERT_NE(priced, diagnosis.findings.end());
  ASSERT_TRUE(priced->cost_ms);
  EXPECT_GT(*priced->cost_ms, 20);
  EXPECT_LE(*priced->cost_ms, 40);
}

}  // namespace
}  // namespace gradwire
