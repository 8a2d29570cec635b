// A run that hangs, by where the threads of its processes stand.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

std::string process(int number, const std::string& calls) {
  return "Process " + std::to_string(number) + ": python t.py\n\nThread " + std::to_string(number) +
         " (idle): \"MainThread\"\n" + calls;
}

const std::string kReducing =
    "    all_reduce (torch/distributed/distributed_c10d.py:2806)\n    step (t.py:40)\n";
const std::string kGathering =
    "    all_gather (torch/distributed/distributed_c10d.py:3300)\n    evaluate (t.py:70)\n";
const std::string kLoading =
    "    _try_get_data (torch/utils/data/dataloader.py:1132)\n    __next__ "
    "(torch/utils/data/dataloader.py:701)\n    step "
    "(t.py:31)\n";

Diagnosis diagnosis_of_stacks(const std::vector<std::string>& texts) {
  CaseFile given;
  for (const std::string& text : texts) given.files.stacks.push_back(parse_stack_dump(text, "stacks.txt"));
  return diagnose(given);
}

TEST(DoctorOnStacks, names_the_process_that_is_elsewhere_while_others_wait_for_it) {
  for (const bool one_text : {true, false}) {
    const std::string a = process(11, kReducing), b = process(12, kLoading), c = process(13, kReducing);
    const auto hung = one_text ? diagnosis_of_stacks({a + b + c}) : diagnosis_of_stacks({a, b, c});
    ASSERT_EQ(first_rule(hung), "R35");
    EXPECT_EQ(hung.findings.size(), 1u);
    EXPECT_TRUE(says(hung.findings[0].what, "process 12 waits for a batch of its DataLoader"))
        << hung.findings[0].what;
    EXPECT_TRUE(says(hung.findings[0].what, "all_reduce: process 11, process 13")) << hung.findings[0].what;
    EXPECT_TRUE(says(hung.findings[0].evidence, "stacks.txt:"));
  }
}

TEST(DoctorOnStacks, says_of_one_process_in_a_collective_whom_to_look_for) {
  const auto hung = diagnosis_of_stacks({process(11, kReducing)});
  ASSERT_EQ(first_rule(hung), "R35");
  EXPECT_EQ(hung.findings[0].sure, Certainty::likely);
  EXPECT_TRUE(says(hung.findings[0].fix, "of every rank"));
}

TEST(DoctorOnStacks, finds_processes_in_different_collectives) {
  const auto hung = diagnosis_of_stacks({process(11, kReducing), process(12, kGathering)});
  ASSERT_EQ(first_rule(hung), "R35");
  EXPECT_TRUE(
      says(hung.findings[0].what, "different collectives: all_gather: process 12; all_reduce: process 11"));
}

TEST(DoctorOnStacks, blames_nobody_for_waiting_for_a_gpu_beside_one_that_waits_in_a_collective) {
  const auto hung =
      diagnosis_of_stacks({process(11, kReducing),
                           process(12, "    synchronize (torch/cuda/__init__.py:954)\n    step (t.py:9)\n")});
  ASSERT_EQ(first_rule(hung), "R35");
  EXPECT_FALSE(says(hung.findings[0].what, "12"));
}

TEST(DoctorOnStacks, takes_no_worker_and_no_launcher_for_a_rank) {
  const auto hung = diagnosis_of_stacks(
      {process(
           9, "    _invoke_run (torch/distributed/elastic/agent/server/api.py:870)\n    main (torchrun:8)\n"),
       process(11, kReducing),
       process(12, "    get (queues.py:103)\n    _worker_loop (torch/utils/data/_utils/worker.py:275)\n")});
  ASSERT_EQ(first_rule(hung), "R35");
  EXPECT_TRUE(says(hung.findings[0].what, "process 11 waits in a collective (all_reduce)"))
      << hung.findings[0].what;
}

TEST(DoctorOnStacks, finds_ranks_that_wait_to_meet) {
  EXPECT_EQ(first_rule(diagnosis_of_stacks({process(
                11, "    _create_c10d_store (torch/distributed/rendezvous.py:189)\n    main (t.py:3)\n")})),
            "R36");
}

TEST(DoctorOnStacks, only_hints_where_a_process_waits_for_its_gpu_or_its_input) {
  for (const auto& [calls, rule] :
       {std::pair{std::string("    synchronize (torch/cuda/__init__.py:954)\n"), "R35"},
        std::pair{kLoading, "R41"}}) {
    const auto diagnosis = diagnosis_of_stacks({process(11, calls)});
    EXPECT_TRUE(diagnosis.findings.empty());
    ASSERT_EQ(diagnosis.hints.size(), 1u);
    EXPECT_EQ(diagnosis.hints[0].rule, rule);
  }
}

TEST(DoctorOnStacks, says_nothing_of_what_it_does_not_know_and_of_one_that_crashed) {
  for (const std::string& text : {process(11, "    poll (zmq/sugar/poll.py:106)\n    main (server.py:20)\n"),
                                  "Fatal Python error: Segmentation fault\n\n" + process(11, kReducing)}) {
    const auto diagnosis = diagnosis_of_stacks({text});
    EXPECT_TRUE(diagnosis.findings.empty() && diagnosis.hints.empty()) << text;
  }
}

}  // namespace
}  // namespace gradwire
