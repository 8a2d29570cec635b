// What launchers, frameworks and programs themselves print when a rank ends.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

const std::string kLauncher =
    "E1 api.py:874] failed (exitcode: 1) local_rank: 2 (pid: 59) of binary: /usr/bin/python3\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n";

std::string rule_of(const std::string& line) { return first_rule(diagnosis_of_log(line + "\n")); }

TEST(DoctorOnPrograms, says_that_a_rank_failed_where_its_launcher_alone_says_so) {
  for (const char* line :
       {"[ERROR] failed (exitcode: 1) local_rank: 2 (pid: 59) of binary: /usr/bin/python3",
        "  exitcode  : 1 (pid: 59)",
        "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated",
        "['python', '-u', 'a.py', '--local_rank=1'] exits with return code = 1",
        "srun: error: n3: task 5: Exited with exit code 1",
        "subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status 1.",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error."}) {
    const auto died = diagnosis_of_log(std::string(line) + "\n");
    ASSERT_EQ(first_rule(died), "R00") << line;
    EXPECT_TRUE(says(died.findings[0].what, "does not say of what")) << line;
  }
}

TEST(DoctorOnPrograms, quotes_what_the_program_of_a_failed_rank_ended_in) {
  const auto died = diagnosis_of_log(
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"a.py\", line 3, in f\n[rank2]: "
      "KeyError: 'labels of part 3'\n" +
      kLauncher);
  ASSERT_EQ(first_rule(died), "R00");
  EXPECT_TRUE(says(died.findings[0].what, "KeyError: 'labels of part 3'")) << died.findings[0].what;
  EXPECT_EQ(died.findings[0].evidence.find("run.log:3: "), 0u);
}

TEST(DoctorOnPrograms, believes_any_other_word_rather_than_the_launchers) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log(kLauncher + "RuntimeError: Expected to have finished reduction in x\n")),
      "R25");
  const auto unexplained = diagnosis_of_log(kLauncher + "NCCL error in: a.cpp:1, unhandled system error\n");
  ASSERT_EQ(first_rule(unexplained), "R00");
  EXPECT_TRUE(says(unexplained.findings[0].what, "NCCL failed")) << unexplained.findings[0].what;
  EXPECT_TRUE(says(diagnosis_of_log("  exitcode  : -9 (pid: 7)\n").findings.at(0).what, "killed"));
}

TEST(DoctorOnPrograms, finds_what_is_on_another_device) {
  EXPECT_EQ(rule_of("RuntimeError: Expected all tensors to be on the same device, but found cpu and cuda:3!"),
            "R22");
  EXPECT_EQ(
      rule_of("ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
              "single-device/multiple-device GPU modules or CPU modules, but got device_ids [0]"),
      "R22");
  EXPECT_EQ(rule_of("RuntimeError: No backend type associated with device type cpu"), "R22");
  EXPECT_EQ(
      rule_of("ValueError: You can't train a model that has been loaded with `device_map='auto'` in any "
              "distributed mode."),
      "R22");
}

TEST(DoctorOnPrograms, finds_how_a_run_should_have_been_started) {
  EXPECT_EQ(rule_of("ValueError: Default process group has not been initialized, please call it"), "R23");
  EXPECT_EQ(rule_of("KeyError: 'LOCAL_RANK'"), "R23");
  EXPECT_EQ(rule_of("train.py: error: unrecognized arguments: --local-rank=0"), "R23");
  EXPECT_EQ(rule_of("You requested 4 GPUs but launched 1 slurm tasks."), "R23");
  EXPECT_EQ(rule_of("AssertionError: Check batch related parameters. train_batch_size is not equal to"),
            "R23");
  EXPECT_EQ(rule_of("ConnectionError: Tried to launch distributed communication on port `29500`, but another "
                    "process is utilizing it."),
            "R36");
}

TEST(DoctorOnPrograms, tells_of_memory_that_is_short) {
  EXPECT_EQ(
      rule_of(
          "WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only 9 bytes"),
      "R18");
  EXPECT_EQ(rule_of("RuntimeError: unable to write to file </torch_31_2>"), "R18");
  EXPECT_EQ(rule_of("RuntimeError: DataLoader worker (pid(s) 4, 5) exited unexpectedly"), "R18");
  EXPECT_TRUE(
      says(diagnosis_of_log("run.sh: line 3:   41 Killed                  python a.py\n").findings.at(0).what,
           "killed"));
  EXPECT_EQ(rule_of("ncclUnhandledCudaError: x\nLast error:\nFailed to CUDA calloc async 608 bytes"), "R22");
}

TEST(DoctorOnPrograms, takes_a_peers_closing_for_the_reason_where_no_other_is_said) {
  const auto gone = diagnosis_of_log(
      "ncclInternalError: Internal check failed.\nLast error:\nNet : Connection closed by remote peer "
      "a<5>\n");
  ASSERT_EQ(first_rule(gone), "R00");
  EXPECT_TRUE(says(gone.findings[0].what, "another rank died first")) << gone.findings[0].what;
}

TEST(DoctorOnPrograms, quotes_the_last_error_that_nobody_knows) {
  const auto odd = diagnosis_of_log(
      "job.0 [stderr] ncclInternalError: Internal check failed.\njob.0 [stderr] Last error:\n"
      "job.0 [stderr] Something odd of node 3\n");
  ASSERT_EQ(first_rule(odd), "R00");
  EXPECT_TRUE(says(odd.findings[0].what, "warned of: Something odd of node 3")) << odd.findings[0].what;
}

TEST(DoctorOnPrograms, reads_the_last_error_as_xla_quotes_it) {
  const auto died = diagnosis_of_log(
      "INTERNAL: NCCL operation ncclCommInitRank(&comm) failed: unhandled system error. Last NCCL "
      "warning(error) "
      "log entry (may be unrelated) 'socketTryAccept: Accept failed: Bad file descriptor'.\n");
  ASSERT_EQ(first_rule(died), "R36");
  EXPECT_TRUE(says(died.findings[0].what, "Accept failed")) << died.findings[0].what;
  EXPECT_EQ(rule_of("INTERNAL: NCCL operation ncclAllReduce(send) failed: invalid argument"), "R00");
}

TEST(DoctorOnPrograms, quotes_no_launchers_traceback_for_the_ranks) {
  const auto died = diagnosis_of_log(
      "Traceback (most recent call last):\n  File \"launch.py\", line 3, in "
      "main\nsubprocess.CalledProcessError: "
      "Command '['python', 'a.py']' returned non-zero exit status 1.\n");
  ASSERT_EQ(first_rule(died), "R00");
  EXPECT_TRUE(says(died.findings[0].what, "does not say of what")) << died.findings[0].what;
}

TEST(DoctorOnPrograms, blames_a_warning_that_nobody_knows_where_a_traceback_follows) {
  const std::string odd = "n:1:2 [0] enqueue.cc:422 NCCL WARN Something nobody knows\n";
  const std::string calls = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(odd + calls)), "R00");
  EXPECT_EQ(first_rule(diagnosis_of_log(odd + calls + "KeyError: 'x y': 3\n")), "");  // the program's own
  EXPECT_EQ(first_rule(diagnosis_of_log(odd)), "");
}

TEST(DoctorOnPrograms, knows_more_of_how_builds_and_gpus_fail) {
  EXPECT_EQ(rule_of("RuntimeError: Distributed package doesn't have NCCL built in"), "R07");
  EXPECT_EQ(rule_of("n:1:2 [0] init.cc:255 NCCL WARN Cuda failure 'CUDA driver is a stub library'"), "R07");
  EXPECT_EQ(rule_of("n:1:2 [1] enqueue.cc:42 NCCL WARN Error : no algorithm/protocol available"), "R40");
  EXPECT_EQ(rule_of("HW Exception by GPU node-9 (Agent handle: 0x63) reason :GPU Hang"), "R00");
  EXPECT_EQ(rule_of("['python', 'a.py'] exits with return code = -7"), "R18");
}

TEST(DoctorOnPrograms, reads_pieces_whose_first_line_was_left_out) {
  EXPECT_EQ(rule_of("n:7:8 [0] NCCL INFO misc/socket.cc:567 -> 2\nn:7:8 [0] NCCL INFO init.cc:1350 -> 2"),
            "R36");
  EXPECT_EQ(rule_of("Error while creating shared memory segment /dev/shm/nccl-Ab (size 9637888)"), "R18");
  EXPECT_EQ(
      rule_of(
          "[rank3]:[E1 ProcessGroupNCCL.cpp:684] [Rank 3] Some NCCL operations have failed or timed out."),
      "R35");
  EXPECT_EQ(
      rule_of(
          "[rank3]:[E1 ProcessGroupNCCL.cpp:684] [Rank 3] Some NCCL operations have failed or timed out.\n"
          "RuntimeError: CUDA error: an illegal memory access was encountered"),
      "R00");
  EXPECT_EQ(rule_of("RuntimeError: CUDA driver error: invalid argument"), "R00");
  EXPECT_EQ(rule_of("srun: error: n3: task 0: Killed"), "R00");
  EXPECT_EQ(rule_of("srun: error: Task launch for 36.0 failed on node n131: Job credential expired"), "R23");
}

TEST(DoctorOnPrograms, tells_of_cards_that_are_far_from_gpus_where_a_run_leaves_its_node) {
  const std::string far =
      "n:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 18000 / HCA 0 (distance 5 > 4)\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(far + kTwoNodes)), "R38");
  EXPECT_EQ(diagnosis_of_log(far).hints.size(), 1u);
  EXPECT_TRUE(diagnosis_of_log(far + kOneNode).hints.empty());
}

TEST(DoctorOnPrograms, finds_nothing_in_what_healthy_runs_print) {
  const std::string healthy =
      "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\n"
      "INFO:torch.distributed.distributed_c10d:Rank 0: Completed store-based barrier for key:k:1 with 8 "
      "nodes.\n"
      "[INFO] [launch.py:350:main] Process 527 exits successfully.\n"
      "[rank0]:[W ProcessGroupNCCL.cpp:1487] Warning: destroy_process_group() was not called before exit\n";
  const auto well = diagnosis_of_log(kP2p + healthy);
  EXPECT_TRUE(well.findings.empty());
  EXPECT_TRUE(well.hints.empty());
}

TEST(DoctorOnPrograms, finds_an_error_that_nobody_knows_where_a_call_that_joins_ranks_raised_it) {
  const auto died = [](const std::string& file) {
    return diagnosis_of_log("Traceback (most recent call last):\n  File \"" + file +
                            "\", line 9, in f\nValueError: odd: 3\n");
  };
  const auto call = died("/v/torch/distributed/fsdp/wrap.py");
  ASSERT_EQ(first_rule(call), "R00");
  EXPECT_TRUE(says(call.findings[0].what, "ValueError: odd: 3")) << call.findings[0].what;
  const auto own = died("/home/me/model.py");
  EXPECT_TRUE(own.findings.empty());
  EXPECT_EQ(own.hints.size(), 1u);
}

TEST(DoctorOnPrograms, hints_at_last_words_that_were_pasted_alone) {
  const auto words = diagnosis_of_log("TypeError: step() takes 3 arguments\n");
  EXPECT_TRUE(words.findings.empty());
  ASSERT_EQ(words.hints.size(), 1u);
  EXPECT_TRUE(says(words.hints[0].evidence, "step() takes"));
  EXPECT_EQ(rule_of("AssertionError: broadcast only supported in process-group mode"), "R23");
}

TEST(DoctorOnPrograms, reads_checks_inside_of_kernels_and_errors_of_pcie_links) {
  EXPECT_EQ(rule_of("../aten/src/x.cu:7: f: block: [1,0,0], thread: [9,0,0] Assertion `i < n` failed."),
            "R00");
  const std::string link = "[    9.000001] pcieport 0000:00:01.0: PCIe Bus Error: severity=";
  EXPECT_EQ(rule_of(link + "Uncorrected (Fatal), type=Transaction Layer"), "R15");
  const auto weak = diagnosis_of_log(link + "Corrected, type=Data Link Layer, (Transmitter ID)\n");
  EXPECT_TRUE(weak.findings.empty());
  EXPECT_EQ(weak.hints.at(0).rule, "R15");
}

}  // namespace
}  // namespace gradwire
