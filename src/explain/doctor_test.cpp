#include <gtest/gtest.h>

#include <tuple>

#include "explain/log_fixture.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

CaseFile case_of_trace(const SampleTrace& trace) {
  Gathered files;
  files.profiles.push_back(trace.profile());
  return make_case(std::move(files), "");
}

TEST(Doctor, finds_accumulation_without_no_sync) {
  SampleTrace trace;
  trace.distributed(0, 2).step(0, 0, 10000);
  for (int micro = 0; micro < 4; ++micro) {
    trace.host("user_annotation", "DistributedDataParallel.forward", micro * 2000.0, 900);
    trace.host("cpu_op", "aten::mm", micro * 2000.0, 900);
    trace.host("user_annotation", "gloo:all_reduce", micro * 2000.0 + 1000, 900, 9);
  }
  trace.host("user_annotation", "Optimizer.step#SGD.step", 9000, 500);
  const auto diagnosis = diagnose(case_of_trace(trace));
  EXPECT_EQ(first_rule(diagnosis), "R26");
  EXPECT_NEAR(*diagnosis.findings[0].cost_ms, 4 * 0.9 * 3 / 4, 1e-6);  // three of the four are not needed
}

TEST(Doctor, finds_tiny_buckets_the_search_for_unused_parameters_and_broadcasts) {
  SampleTrace tiny;
  tiny.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(10, 6000);
  tiny.host("cpu_op", "torch::distributed::reducer::mul_out", 100, 5);
  for (int i = 0; i < 30; ++i) tiny.all_reduce(6100 + i * 100.0, 90, 1000 + i);
  EXPECT_EQ(first_rule(diagnose(case_of_trace(tiny))), "R24");

  SampleTrace search;
  search.step(0, 0, 10000).kernel(10, 9900);
  search.host("cpu_op", "torch.distributed.ddp.reducer::search_unused_parameters", 100, 500);
  EXPECT_EQ(first_rule(diagnose(case_of_trace(search))), "R25");

  SampleTrace buffers;
  buffers.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(1010, 8900);
  buffers.host("user_annotation", "DistributedDataParallel.forward", 1, 5000);
  buffers.gpu("kernel", "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 10, 900, 20);
  EXPECT_EQ(first_rule(diagnose(case_of_trace(buffers))), "R27");
}

TEST(Doctor, prices_tiny_buckets_by_what_one_call_with_all_of_them_would_take) {
  const auto cost = [](long large) {
    SampleTrace trace;
    trace.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(10, 6000);
    trace.host("cpu_op", "torch::distributed::reducer::mul_out", 100, 5);
    for (int i = 0; i < 20; ++i) trace.all_reduce(6100 + i * 100.0, 100, 1000);
    if (large > 0) trace.all_reduce(8100, 400, large);
    return *diagnose(case_of_trace(trace)).findings.at(0).cost_ms;
  };
  EXPECT_NEAR(cost(0), 20 * 0.1 - 0.1, 1e-6);  // one size tells of latency alone
  EXPECT_NEAR(cost(1'080), 2.4 - 0.1, 1e-6);   // nor do two that are nearly alike: one of them came late
  EXPECT_NEAR(cost(1'000'000), 2.0 - 0.1057, 1e-3);  // 400 us for 4 MB, 100 us for 4 kB: 105.7 us for 80 kB
}

// Thirty small all-reduces a step, each after a kernel, so many of them in backward.
Diagnosis diagnosis_of_small_calls(int in_backward) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2).step(0, 0, 10000);
  for (int i = 0; i < 30; ++i) {
    if (i >= 30 - in_backward)
      trace.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", i * 300.0, 290);
    trace.kernel(i * 300.0 + 10, 180).all_reduce(i * 300.0 + 200, 90, 1000);
  }
  return diagnose(case_of_trace(trace));
}

TEST(Doctor, takes_small_all_reduces_for_gradients_only_where_backward_makes_them) {
  EXPECT_EQ(first_rule(diagnosis_of_small_calls(30)), "R24");
  EXPECT_EQ(first_rule(diagnosis_of_small_calls(15)),
            "R01");  // a layer's halves on two GPUs call in forward too
  EXPECT_EQ(first_rule(diagnosis_of_small_calls(0)), "R01");  // inference
}

TEST(Doctor, takes_broadcasts_for_buffers_only_where_a_forward_of_ddp_makes_them) {
  const auto rule = [](const char* type, double forward) {
    SampleTrace trace;
    trace.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(1010, 8900);
    trace.host("user_annotation", "nccl:broadcast", 3, 10);
    trace.gpu("kernel", "ncclDevKernel_Broadcast_RING_LL(int)", 10, 900, 20,
              fmt::format(R"("Collective name": "broadcast", "In msg nelems": 4096, "dtype": "{}")", type));
    if (forward >= 0) trace.host("user_annotation", "DistributedDataParallel.forward", forward, 5000);
    return first_rule(diagnose(case_of_trace(trace)));
  };
  EXPECT_EQ(rule("Float", 1), "R27");
  EXPECT_EQ(rule("Long", 1), "");      // a batch
  EXPECT_EQ(rule("Float", 1000), "");  // before the forward
  EXPECT_EQ(rule("Float", -1), "");
}

TEST(Doctor, finds_gloo_under_gpus) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(10, 6000);
  trace.host("user_annotation", "gloo:all_reduce", 6100, 3000, 9);
  const auto diagnosis = diagnose(case_of_trace(trace));
  ASSERT_EQ(first_rule(diagnosis), "R32");
  EXPECT_NEAR(*diagnosis.findings[0].cost_ms, 3, 1e-6);
}

TEST(Doctor, finds_nothing_in_a_trace_that_computes) {
  EXPECT_TRUE(diagnose(case_of_trace(SampleTrace().step(0, 0, 1000).kernel(10, 950))).findings.empty());
}

TEST(Doctor, says_which_rank_a_hanging_run_waits_for) {
  CaseFile given;
  for (int rank = 0; rank < 3; ++rank) {
    FlightDump dump{.file = "dump" + std::to_string(rank), .rank = rank, .calls = {}};
    for (long call = 1; call <= (rank == 1 ? 4 : 5); ++call)
      dump.calls.push_back({"default_pg", call, "nccl:all_reduce",
                            call < 5 ? CallState::completed : CallState::scheduled, "[[8]]"});
    given.files.dumps.push_back(std::move(dump));
  }
  const auto diagnosis = diagnose(given);
  EXPECT_EQ(first_rule(diagnosis), "R35");
  EXPECT_NE(diagnosis.findings[0].what.find("rank 1 is behind: it never came to call 5"), std::string::npos)
      << diagnosis.findings[0].what;
}

TEST(Doctor, does_not_take_dumps_of_two_moments_of_a_run_that_goes_on_for_a_hang) {
  CaseFile given;
  for (int rank = 0; rank < 2; ++rank) {
    FlightDump dump{.file = "dump" + std::to_string(rank), .rank = rank, .calls = {}};
    for (long call = 1; call <= 5 + rank; ++call)
      dump.calls.push_back({"default_pg", call, "nccl:all_reduce", CallState::completed, "[[8]]"});
    given.files.dumps.push_back(std::move(dump));
  }
  EXPECT_TRUE(diagnose(given).findings.empty());
}

// Ranks that all made twenty calls and have not ended the last of them.
CaseFile case_of_stuck_ranks(const std::vector<int>& ranks) {
  CaseFile given;
  for (const int rank : ranks) {
    FlightDump dump{.file = "trace_rank_" + std::to_string(rank), .rank = rank, .calls = {}};
    dump.members["default_pg"] = {0, 1, 2, 3};
    for (long call = 1; call <= 20; ++call) {
      RecordedCall made{"default_pg", call, "nccl:all_reduce",
                        call < 20 ? CallState::completed : CallState::started, "[[8]]"};
      made.bytes = 4096;
      made.made_ns = made.latest_ns = call * 1'000'000;
      made.timeout_ms = 600'000;
      dump.calls.push_back(made);
    }
    given.files.dumps.push_back(std::move(dump));
  }
  return given;
}

TEST(Doctor, says_which_call_all_ranks_of_a_hanging_run_are_in) {
  CaseFile given = case_of_stuck_ranks({0, 1, 2, 3});
  const auto all = diagnose(given);
  ASSERT_EQ(first_rule(all), "R35");
  EXPECT_TRUE(
      says(all.findings[0].what, "all ranks are in call 20 of group default_pg (nccl:all_reduce of 4"))
      << all.findings[0].what;
  EXPECT_EQ(all.findings[0].sure, Certainty::likely);  // nothing says for how long
  given.files.dumps[2].calls.back().state = CallState::scheduled;
  EXPECT_TRUE(says(diagnose(given).findings[0].what, "the GPU of rank 2 never began it"));
  given.files.dumps[1].calls.push_back({"other", 1, "nccl:all_gather", CallState::completed, "[[8]]"});
  given.files.dumps[1].calls.back().latest_ns = 700'000'000'000;
  EXPECT_EQ(diagnose(given).findings[0].sure, Certainty::certain);
}

TEST(Doctor, sees_no_hang_where_all_ranks_are_in_a_call_that_was_young_when_they_were_dumped) {
  CaseFile given = case_of_stuck_ranks({0, 1, 2, 3});
  const std::int64_t made = *given.files.dumps[0].calls.back().made_ns;
  for (FlightDump& dump : given.files.dumps) dump.written_ns = made + 400'000'000;
  const auto asked = diagnose(given);
  EXPECT_TRUE(asked.findings.empty());
  ASSERT_EQ(asked.notes.size(), 1u);
  EXPECT_TRUE(says(asked.notes[0], "no evidence of a hang: all ranks here are in call 20")) << asked.notes[0];
  EXPECT_TRUE(says(asked.notes[0], "0.4 s old")) << asked.notes[0];
  given.files.dumps[2].written_ns = made + 900'000'000'000;  // it timed out, or is a copy
  EXPECT_EQ(first_rule(diagnose(given)), "R35");
  given.files.dumps[2].written_ns = std::nullopt;
  EXPECT_EQ(first_rule(diagnose(given)), "R35");
}

TEST(Doctor, names_the_rank_that_left_no_dump_of_a_hanging_run) {
  const auto diagnosis = diagnose(case_of_stuck_ranks({0, 1, 3}));
  ASSERT_EQ(first_rule(diagnosis), "R35");
  EXPECT_TRUE(says(diagnosis.findings[0].what, "rank 2 left no dump; the others are in call 20"))
      << diagnosis.findings[0].what;
}

TEST(Doctor, names_the_missing_rank_by_the_numbers_of_the_others_where_dumps_do_not_say_who_is_in_a_group) {
  CaseFile given = case_of_stuck_ranks({0, 1, 3});
  for (FlightDump& dump : given.files.dumps) dump.members.clear();
  EXPECT_TRUE(says(diagnose(given).findings.at(0).what, "rank 2 left no dump"));
}

TEST(Doctor, asks_for_the_other_dumps_where_one_rank_alone_is_in_a_call) {
  CaseFile given = case_of_stuck_ranks({1});
  const auto diagnosis = diagnose(given);
  EXPECT_TRUE(diagnosis.findings.empty());
  ASSERT_EQ(diagnosis.hints.size(), 1u);
  EXPECT_TRUE(says(diagnosis.hints[0].what, "rank 1 is in call 20")) << diagnosis.hints[0].what;
  given.files.dumps[0].calls.back().state = CallState::completed;
  EXPECT_TRUE(diagnose(given).hints.empty());
}

TEST(Doctor, takes_no_run_for_a_hanging_one_whose_last_call_ended_on_a_rank) {
  CaseFile given = case_of_stuck_ranks({0, 1, 3});
  given.files.dumps[1].calls.back().state = CallState::completed;
  EXPECT_TRUE(diagnose(given).findings.empty());
  for (FlightDump& dump : given.files.dumps) dump.calls.back().state = CallState::completed;
  EXPECT_TRUE(diagnose(given).findings.empty());  // rank 2's is not here, and nobody waits
}

TEST(Doctor, does_not_call_a_rank_behind_that_others_called_ahead_of_while_all_wait_in_one_call) {
  CaseFile given = case_of_stuck_ranks({0, 1, 2, 3});
  given.files.dumps[1].calls.push_back({"default_pg", 21, "nccl:all_reduce", CallState::scheduled, "[[8]]"});
  EXPECT_TRUE(says(diagnose(given).findings.at(0).what, "all ranks are in call 20"));
}

TEST(Doctor, does_not_count_messages_between_two_ranks_when_it_looks_for_who_is_behind) {
  CaseFile given;
  for (int rank = 0; rank < 3; ++rank) {
    FlightDump dump{.file = "dump" + std::to_string(rank), .rank = rank, .calls = {}};
    dump.calls.push_back({"default_pg", 1, "nccl:all_reduce", CallState::completed, "[[8]]"});
    if (rank < 2) dump.calls.push_back({"default_pg", 2, "send", CallState::completed, "8 bytes", true});
    given.files.dumps.push_back(std::move(dump));
  }
  EXPECT_TRUE(diagnose(given).findings.empty());
}

TEST(Doctor, shows_the_file_of_the_rank_that_it_blames) {
  Gathered files;
  for (int rank = 0; rank < 3; ++rank) {
    const double late = rank == 1 ? 300 : 0;
    SampleTrace trace;
    trace.distributed(rank, 3).gpus(1);
    trace.step(0, 0, 1000).kernel(10, 500 + late).all_reduce(520 + late, 400 - late);
    files.profiles.push_back(trace.profile("rank" + std::to_string(rank) + ".json"));
  }
  const auto diagnosis = diagnose(make_case(std::move(files), ""));
  ASSERT_EQ(first_rule(diagnosis), "R35");
  EXPECT_TRUE(says(diagnosis.findings[0].evidence, "rank1.json")) << diagnosis.findings[0].evidence;
}

TEST(Doctor, keeps_to_the_traces_of_one_run) {
  Gathered files;
  for (const auto& [rank, world, name] :
       {std::tuple(0, 2, "a0.json"), {1, 2, "a1.json"}, {1, 16, "b1.json"}}) {
    SampleTrace trace;
    trace.distributed(rank, world).gpus(1).step(0, 0, 1000).kernel(10, 500).all_reduce(520, 400);
    files.profiles.push_back(trace.profile(name));
    files.files.emplace_back().file = name;
  }
  keep_one_run(files);
  const auto given = make_case(std::move(files), "");
  EXPECT_EQ(given.files.profiles.size(), 2u);
  EXPECT_EQ(given.analysis->world, 2);
  EXPECT_EQ(diagnose(given).left_out,
            std::vector<std::string>{"b1.json: this trace is of a run of 16 ranks, not of the one of 2"});
}

TEST(Doctor, notes_a_trace_that_is_cut_off) {
  Gathered files;
  files.profiles.push_back(SampleTrace().step(0, 0, 1000).kernel(10, 950).profile("rank0.json"));
  EXPECT_TRUE(diagnose(make_case(files, "")).notes.empty());
  files.profiles[0].whole = false;
  files.profiles[0].notes = {"the file is cut off"};
  EXPECT_EQ(diagnose(make_case(files, "")).notes,
            std::vector<std::string>{"rank0.json: the file is cut off"});
}

TEST(Doctor, blames_the_make_of_the_gpu_that_comes_last) {
  const auto rule = [](const char* second) {
    Gathered files;
    for (int rank = 0; rank < 2; ++rank) {
      const double late = rank == 1 ? 300 : 0;
      SampleTrace trace;
      trace.distributed(rank, 2).gpus(1, rank == 1 ? second : "NVIDIA RTX A6000");
      trace.step(0, 0, 1000).kernel(10, 500 + late).all_reduce(520 + late, 400 - late);
      files.profiles.push_back(trace.profile());
    }
    return first_rule(diagnose(make_case(std::move(files), "")));
  };
  EXPECT_EQ(rule("NVIDIA GeForce RTX 2080 Ti"), "R31");
  EXPECT_EQ(rule("NVIDIA RTX A6000"), "R35");
}

}  // namespace
}  // namespace gradwire
