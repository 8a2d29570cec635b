// What programs print around a run that failed: the driver, the kernel, schedulers, PyTorch.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

std::string rule_of_words(const std::string& lines) { return first_rule(diagnosis_of_log(lines)); }

TEST(LastWords, of_the_driver_and_the_kernel_are_known) {
  EXPECT_EQ(rule_of_words("NVRM: API mismatch: the client 'python' (pid 7) has the version 1.2, but\n"),
            "R07");
  EXPECT_EQ(rule_of_words("kernel: NVRM: GPU 0000:0a:00.0: RmInitAdapter failed! (0x24:0x72:1568)\n"), "R00");
  EXPECT_EQ(
      rule_of_words("nvidia 0000:4c:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x21 address=0x1]\n"),
      "R14");
  EXPECT_EQ(
      rule_of_words(
          "nv-fabricmanager[7]: fabric manager NVIDIA GPU driver interface version 1.2 don't match with "
          "driver version 1.3. Please update\n"),
      "R20");
  EXPECT_EQ(rule_of_words("systemd[1]: Failed to start NVIDIA fabric manager service.\n"), "R20");
  EXPECT_EQ(rule_of_words("Failed to initialize NVML: Unknown Error\n"), "R23");
}

TEST(LastWords, of_an_iommu_are_a_hint_where_they_may_be_of_any_device) {
  const auto any =
      diagnosis_of_log("DMAR: [DMA Write] Request device [3b:00.0] fault addr ffff [fault reason 05]\n");
  EXPECT_TRUE(any.findings.empty());
  ASSERT_EQ(any.hints.size(), 1u);
  EXPECT_EQ(any.hints[0].rule, "R14");
}

TEST(LastWords, of_libraries_that_do_not_fit_are_known) {
  EXPECT_EQ(
      rule_of_words("ImportError: libnccl.so.2: cannot open shared object file: No such file or directory\n"),
      "R07");
  EXPECT_EQ(rule_of_words(
                "n:1:2 [0] NCCL INFO NET/Plugin : libnccl-net.so: cannot open shared object file\n" + kP2p),
            "");
  EXPECT_EQ(rule_of_words("OSError: libcudart.so.11.0: cannot open shared object file\n"), "R07");
  EXPECT_EQ(rule_of_words(
                "n:1:2 [0] init.cc:1 NCCL WARN Cuda failure 'API call is not supported in the installed CUDA "
                "driver'\n"),
            "R07");
  EXPECT_EQ(rule_of_words("n:1:2 [0] init.cc:1 NCCL WARN Cuda failure 801 'operation not supported'\n"),
            "R19");
}

TEST(LastWords, of_nccl_under_wsl_that_looks_for_the_driver_mean_nothing) {
  EXPECT_EQ(rule_of_words("n:1:2 [0] misc/cudawrap.cc:179 NCCL WARN Failed to find CUDA library libcuda.so : "
                          "libcuda.so: cannot open shared object file\n" +
                          kP2p),
            "");
  EXPECT_EQ(rule_of_words("ImportError: libcuda.so.1: cannot open shared object file\n"), "R23");
}

TEST(LastWords, of_a_scheduler_count_where_nothing_else_tells) {
  const std::string over =
      "slurmstepd: error: *** JOB 4 ON n CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***\n";
  const auto ended = diagnosis_of_log(over);
  ASSERT_EQ(first_rule(ended), "R00");
  EXPECT_TRUE(says(ended.findings[0].what, "its time was up"));
  EXPECT_EQ(
      rule_of_words("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE)\n" +
                    over),
      "R35");
  EXPECT_TRUE(
      says(diagnosis_of_log("slurmstepd: error: *** STEP 4.0 ON n CANCELLED AT 2024-04-20T09:09:37 DUE TO "
                            "PREEMPTION ***\n")
               .findings.at(0)
               .what,
           "took the nodes away"));
  EXPECT_TRUE(
      says(diagnosis_of_log("api.SignalException: Process 140021 got signal: 15\n").findings.at(0).what,
           "told to end from outside"));
}

TEST(LastWords, of_a_store_that_is_gone_blame_rank_0) {
  const auto gone = diagnosis_of_log(
      "[rank1]:[W901 ProcessGroupNCCL.cpp:1783] [PG ID 0 PG GUID 0(default_pg) Rank 1] Failed to check the "
      "\"should "
      "dump\" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe\n");
  ASSERT_EQ(first_rule(gone), "R00");
  EXPECT_TRUE(says(gone.findings[0].what, "rank 0, which keeps the store"));
}

TEST(LastWords, of_a_watchdog_are_read_for_what_they_repeat) {
  const auto remote = diagnosis_of_log(
      "[PG ID 0 Rank 5] Process group watchdog thread terminated with exception: NCCL error: remote process "
      "exited or "
      "there was a network error, NCCL version 2.21.5\n");
  EXPECT_TRUE(says(remote.findings.at(0).what, "another rank died first")) << remote.findings[0].what;
  const auto wait = diagnosis_of_log(
      "[rank3]:[E ProcessGroupNCCL.cpp:756] [Rank 3] Work WorkNCCL(SeqNum=9, OpType=ALLREDUCE, "
      "Timeout(ms)=600000) "
      "timed out in blocking wait.\n");
  EXPECT_EQ(first_rule(wait), "R35");
}

TEST(LastWords, put_a_full_gpu_before_those_who_waited_for_its_rank) {
  const std::string full =
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 564.00 MiB. GPU 1 has 22.20 GiB\n";
  const std::string waited =
      "[E ProcessGroupNCCL.cpp:456] [Rank 3] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=641, "
      "OpType=_ALLGATHER_BASE, Timeout(ms)=1800000) ran for 1800452 milliseconds before timing out.\n";
  for (const auto& diagnosis : {diagnosis_of_log(full + waited), diagnosis_of_logs({waited, full})}) {
    ASSERT_EQ(first_rule(diagnosis), "R00");
    EXPECT_TRUE(says(diagnosis.findings[0].what, "memory is full")) << diagnosis.findings[0].what;
  }
  EXPECT_TRUE(diagnosis_of_log(full).findings.empty());
}

TEST(LastWords, are_taken_from_the_message_and_not_from_the_line_that_raises_it) {
  const auto told = diagnosis_of_log(
      "    raise "
      "RendezvousConnectionError(\ntorch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The "
      "connection to the C10d store has failed.\n");
  EXPECT_TRUE(says(told.findings.at(0).evidence, "run.log:2: ")) << told.findings[0].evidence;
}

TEST(LastWords, know_dataparallel_by_its_warnings) {
  EXPECT_EQ(
      rule_of_words("    There is an imbalance between your GPUs. You may want to exclude GPU 0 which\n"),
      "R31");
  EXPECT_EQ(rule_of_words(
                "UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars\n"),
            "R22");
  EXPECT_EQ(rule_of_words("Process rank: -1, device: cuda:0, n_gpu: 4distributed training: False\n"), "R22");
}

TEST(LastWords, of_networks_are_known) {
  EXPECT_EQ(rule_of_words(
                "n:1:2 [0] socket.h:333 NCCL WARN Call to bind failed : Cannot assign requested address\n"),
            "R36");
  EXPECT_EQ(rule_of_words(
                "n:1:2 [0] net_ib.cc:348 NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid "
                "argument\n"),
            "R37");
  EXPECT_EQ(
      rule_of_words(kTwoNodes +
                    "n:1:2 [7] create:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid\n"),
      "R37");
}

TEST(LastWords, of_launchers_that_reach_nobody_are_known) {
  EXPECT_EQ(
      rule_of_words("ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
                    "variable MASTER_ADDR expected, but not set\n"),
      "R23");
  EXPECT_EQ(
      rule_of_words("RuntimeError: Using hostfile at hosts but host=10.0.0.7 was not reachable via ssh.\n"),
      "R36");
  EXPECT_EQ(rule_of_words("RuntimeError: connect() timed out. Original timeout was 1800000 ms.\n"), "R36");
  EXPECT_EQ(rule_of_words(
                "RuntimeError: params[7] in this process with sizes [1] appears not to match strides of the "
                "same param in process 0.\n"),
            "R35");
}

TEST(LastWords, that_nobody_knows_are_quoted) {
  const auto odd = diagnosis_of_log(
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nValueError: odd\n");
  EXPECT_TRUE(odd.findings.empty());
  ASSERT_EQ(odd.hints.size(), 1u);
  EXPECT_TRUE(says(odd.hints[0].evidence, "ValueError: odd"));
}

TEST(LastWords, of_an_old_kernel_are_a_hint) {
  const auto old = diagnosis_of_log(
      "Detected kernel version 4.18.0, which is below the recommended minimum of 5.5.0; this can cause the "
      "process to "
      "hang.\n");
  EXPECT_TRUE(old.findings.empty());
  ASSERT_EQ(old.hints.size(), 1u);
}

}  // namespace
}  // namespace gradwire
