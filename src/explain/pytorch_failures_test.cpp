// What PyTorch and its launcher print when a run dies, or warn of.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

TEST(DoctorOnPyTorchsWords, says_in_which_calls_ranks_waited_when_the_watchdog_ended_them) {
  const std::string line =
      "[rank{0}]:[E1011 12:00:00.1 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation "
      "timeout: WorkNCCL(SeqNum={1}, OpType={2}, NumelIn=10, Timeout(ms)=600000) ran for 600021 "
      "milliseconds\n";
  const auto said = [&](int rank, int sequence, const char* operation) {
    return fmt::format(fmt::runtime(line), rank, sequence, operation);
  };
  const auto same = diagnosis_of_log(said(0, 41, "ALLREDUCE") + said(2, 41, "ALLREDUCE"));
  EXPECT_EQ(first_rule(same), "R35");
  EXPECT_EQ(same.findings[0].what, "a rank did not come to ALLREDUCE 41, in which ranks 0, 2 waited");
  const auto apart =
      diagnosis_of_log(said(0, 41, "ALLREDUCE") + said(2, 41, "ALLREDUCE") + said(1, 40, "BROADCAST"));
  EXPECT_EQ(apart.findings[0].what,
            "ranks waited for each other in different collectives: ranks 0, 2 in ALLREDUCE 41; rank 1 in "
            "BROADCAST 40");
  EXPECT_EQ(diagnosis_of_log(said(0, 41, "ALLREDUCE")).findings[0].what,
            "a rank did not come to a collective that the others were in");
  EXPECT_EQ(diagnosis_of_log(said(0, 41, "ALLREDUCE")).findings[0].sure, Certainty::likely)
      << "one timeout does not tell why the call did not end";
  EXPECT_EQ(same.findings[0].sure, Certainty::likely) << "other ranks may have said it elsewhere";
  EXPECT_EQ(apart.findings[0].sure, Certainty::certain);
}

TEST(DoctorOnPyTorchsWords, reads_what_pytorch_repeats_of_nccl) {
  const std::string died =
      "[rank3]: DistBackendError: unhandled system error\n[rank3]: ncclSystemError: System call failed\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(died)), "R00");
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          died +
          "[rank3]: Last error:\n[rank3]: socketStartConnect: Connect to 127.0.0.1<4> failed : No route\n")),
      "R36");
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          died +
          "Last error: Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2 : CUDA error 401\n")),
      "R20");
}

const char* const kTimeout =
    "[rank{0}]:[E1 ProcessGroupNCCL.cpp:616] [{1}Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={2}, OpType=ALLREDUCE, NumelIn=10, Timeout(ms)=600000) ran for 600021 milliseconds\n";

TEST(DoctorOnPyTorchsWords, reads_what_pytorch_repeats_of_nccl_below_blank_lines) {
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "ncclInvalidUsage: odd.\n\nLast error:\n\n \nBootstrap : no socket interface found\n")),
            "R36");
}

TEST(DoctorOnPyTorchsWords, blames_peer_access_where_all_ranks_are_in_the_call_that_does_not_end) {
  const std::string two =
      kP2p + "n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n";
  const auto stuck = [](int rank, int call = 1) {
    return fmt::format(fmt::runtime(kTimeout), rank, "", call);
  };
  EXPECT_EQ(first_rule(diagnosis_of_log(two + stuck(0) + stuck(1))), "R13");
  EXPECT_EQ(first_rule(diagnosis_of_logs({two + stuck(0), stuck(1)})), "R13");  // a file a rank
  EXPECT_EQ(first_rule(diagnosis_of_log(two + stuck(0))), "R35");
  const auto late = diagnosis_of_log(two + stuck(0, 1580) + stuck(1, 1580));  // it carried all before
  EXPECT_EQ(first_rule(late), "R35");
  EXPECT_TRUE(late.findings[0].what.starts_with("all 2 ranks waited in ALLREDUCE 1580"));
}

TEST(DoctorOnPyTorchsWords, reads_the_rank_behind_any_prefix_of_its_group) {
  const auto stuck = [](int rank) {
    return fmt::format(fmt::runtime(kTimeout), rank, "PG ID 0 PG GUID 0(default_pg) ", 1);
  };
  EXPECT_EQ(diagnosis_of_log(stuck(0) + stuck(2)).findings.at(0).what,
            "a rank did not come to ALLREDUCE 1, in which ranks 0, 2 waited");
}

TEST(DoctorOnPyTorchsWords, reads_what_distributed_data_parallel_says_of_unused_parameters) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log("RuntimeError: Expected to have finished reduction in the prior iteration "
                                  "before starting a new one.\n")),
      "R25");
  const auto needless = diagnosis_of_log(
      "[W reducer.cpp:1251] Warning: find_unused_parameters=True was specified in DDP constructor, but did "
      "not find any "
      "unused parameters in the forward pass.\n");
  EXPECT_EQ(first_rule(needless), "R25");
  EXPECT_EQ(needless.findings[0].severity, Severity::medium);
}

TEST(DoctorOnPyTorchsWords, reads_what_pytorch_says_where_nccl_says_nothing) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: X\n")),
      "R35");
  EXPECT_EQ(first_rule(diagnosis_of_log("[Rank 0]: Ranks 1 failed to pass monitoredBarrier in 30000 ms\n")),
            "R35");
  EXPECT_EQ(first_rule(diagnosis_of_log("RuntimeError: CUDA error: invalid device ordinal\n")), "R23");
  EXPECT_EQ(first_rule(diagnosis_of_log("RuntimeError: unable to open shared memory object </torch_45_1> in "
                                        "read-write mode: No space left on device (28)\n")),
            "R18");
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "n:1:2 [0] transport/net_socket.cc:424 NCCL WARN NET/Socket : peer "
                "10.0.0.3<59> message truncated : receiving 1048576 bytes instead of 65536\n")),
            "R35");
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          "n:1:2 [0] misc/socket.cc:575 NCCL WARN socketPollConnect: connect to 10.0.0.2<4111> returned "
          "Connection refused, exceeded error retry count after 35 attempts\n")),
      "R36");
}

TEST(DoctorOnPyTorchsWords, tells_a_gpu_that_ranks_crowd_from_one_that_is_small) {
  const std::string full =
      "NCCL version 2.21.5\n[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to "
      "allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 100.06 MiB is free.";
  EXPECT_EQ(
      first_rule(diagnosis_of_log(full + " Process 111 has 7.75 GiB memory in use. Process 112 has 7.75 GiB "
                                         "memory in use. Including non-PyTorch memory, this process\n")),
      "R22");
  EXPECT_EQ(first_rule(
                diagnosis_of_log(full + " Including non-PyTorch memory, this process has 23.5 GiB memory\n")),
            "");
}

TEST(DoctorOnPyTorchsWords, reads_by_which_signal_a_rank_ended_where_it_said_nothing) {
  const std::string others =
      "[rank1]: RuntimeError: NCCL error: remote process exited or there was a network error\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(others)), "R00");
  EXPECT_EQ(first_rule(diagnosis_of_log(others + "  traceback : Signal 7 (SIGBUS) received by PID 2345\n")),
            "R18");
  const auto killed = diagnosis_of_log(others + "  traceback : Signal 9 (SIGKILL) received by PID 2345\n");
  ASSERT_EQ(killed.findings.size(), 1u);
  EXPECT_TRUE(says(killed.findings[0].what, "killed"));
  const auto crashed = diagnosis_of_log(others + "  traceback : Signal 11 (SIGSEGV) received by PID 2345\n");
  ASSERT_EQ(crashed.findings.size(), 1u);
  EXPECT_TRUE(says(crashed.findings[0].what, "crashed"));  // not that another died first
}

TEST(DoctorOnPyTorchsWords, makes_little_of_gradients_that_lie_otherwise_and_of_a_barrier_that_guesses) {
  const auto strides =
      diagnosis_of_log("UserWarning: Grad strides do not match bucket view strides. This may\n");
  EXPECT_EQ(first_rule(strides), "R28");
  EXPECT_EQ(strides.findings[0].severity, Severity::low);
  const auto barrier = diagnosis_of_log(
      kP2p +
      "[rank0]:[W ProcessGroupNCCL.cpp:4115] [PG ID 0 Rank 0]  using GPU 0 to perform barrier as devices "
      "used by this process are currently unknown.\n");
  EXPECT_EQ(first_rule(barrier), "");
  EXPECT_EQ(barrier.hints.size(), 1u);
  const auto newer = diagnosis_of_log(
      "[rank1]:[W1012 ProcessGroupNCCL.cpp:4718] [PG ID 0 PG GUID 0 Rank 1]  using GPU 1 as device used by "
      "this process is "
      "currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.\n");
  EXPECT_EQ(first_rule(newer), "");
  EXPECT_EQ(newer.hints.size(), 1u);
}

TEST(DoctorOnPyTorchsWords, says_that_ranks_did_not_meet) {
  const auto rule_of = [](const std::string& line) { return first_rule(diagnosis_of_log(line)); };
  EXPECT_EQ(rule_of("DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.\n"),
            "R36");
  EXPECT_EQ(rule_of("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n"), "R36");
  EXPECT_EQ(rule_of("ValueError: host not found: Name or service not known\n"), "R36");
  EXPECT_EQ(
      rule_of("RuntimeError: Timed out initializing process group in store based barrier on rank: 1, for "
              "key: store_based_barrier_key:1 (world_size=4, worker_count=3, timeout=0:30:00)\n"),
      "R36");
  EXPECT_EQ(rule_of("[E ProcessGroupGloo.cpp:143] Gloo connectFullMesh failed with [pair.cc:144] no error\n"),
            "R36");
  EXPECT_EQ(rule_of("RuntimeError: The server socket: [::]:29500 failed, EADDRINUSE\n"), "R36");
}

TEST(DoctorOnPyTorchsWords, says_what_ended_a_rank_before_that_others_waited_for_it) {
  const std::string waited =
      "[rank0]:[E1 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600020 milliseconds\n";
  const auto what_of = [&](const std::string& line) {
    const Diagnosis diagnosis = diagnosis_of_log(waited + line);
    return diagnosis.findings.empty() ? std::string() : diagnosis.findings[0].what;
  };
  EXPECT_TRUE(says(what_of("[rank3]: RuntimeError: CUDA error: device-side assert triggered\n"), "check"));
  EXPECT_TRUE(says(what_of("api.py:869] failed (exitcode: -9) local_rank: 3 (pid: 26) of binary: python\n"),
                   "killed"));
  EXPECT_TRUE(says(what_of("slurmstepd: error: Detected 2 oom_kill events in StepId=7.0.\n"), "killed"));
  EXPECT_TRUE(says(what_of("RuntimeError: CUDA error: uncorrectable ECC error encountered\n"), "memory"));
  EXPECT_TRUE(
      says(what_of("RuntimeError: CUDA error: an illegal memory access was encountered\n"), "not its own"));
}

TEST(DoctorOnPyTorchsWords, tells_who_misses_by_the_words_of_horovod_and_gloo) {
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "stall_inspector.cc:105] One or more tensors were submitted to be reduced by subset of ranks "
                "and are waiting for remainder of ranks for more than 60 seconds.\n")),
            "R35");
  EXPECT_EQ(first_rule(diagnosis_of_log("RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out "
                                        "waiting 1800000ms for recv operation to complete\n")),
            "R35");
  EXPECT_EQ(first_rule(diagnosis_of_log("RuntimeError: [third_party/gloo/gloo/transport/tcp/pair.cc:589] "
                                        "Connection closed by peer [10.0.0.7]:4\n")),
            "R00");
}

TEST(DoctorOnPyTorchsWords, reads_what_the_kernel_says_of_gpus_and_their_links) {
  const auto said = [](const std::string& words) {
    return diagnosis_of_log("[ 912.6] NVRM: Xid (PCI:0000:3b:00): " + words + "\n");
  };
  EXPECT_EQ(first_rule(said("74, pid='<unknown>', NVLink: fatal error detected on link 3")), "R10");
  EXPECT_EQ(first_rule(said("149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x0 0x0)")), "R10");
  EXPECT_EQ(first_rule(said("145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0 0x0)")), "");  // a hint
  EXPECT_TRUE(says(said("79, GPU has fallen off the bus.").findings.at(0).what, "bus"));
  EXPECT_TRUE(says(said("94, pid=12, Contained ECC error.").findings.at(0).what, "memory"));
}

const std::string kOffTheBus = "[ 912.6] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n";

TEST(DoctorOnPyTorchsWords, tells_of_every_gpu_that_failed_in_a_way_of_its_own) {
  const auto both = diagnosis_of_log(
      kOffTheBus + "[ 913.1] NVRM: Xid (PCI:0000:af:00): 48, pid=1234, DBE (double bit error)\n" +
      kOffTheBus + "[ 990.0] Out of memory: Killed process 4711 (python) total-vm:9kB\n");
  ASSERT_EQ(both.findings.size(), 3u);
  EXPECT_TRUE(says(both.findings[0].what, "bus"));
  EXPECT_TRUE(says(both.findings[1].what, "memory has errors"));
  EXPECT_TRUE(says(both.findings[2].what, "killed"));
}

TEST(DoctorOnPyTorchsWords, blames_a_full_gpu_for_the_ranks_that_waited_for_it) {
  const auto waited =
      diagnosis_of_log("[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" +
                       fmt::format(fmt::runtime(kTimeout), 0, "", 9));
  ASSERT_FALSE(waited.findings.empty());
  EXPECT_TRUE(says(waited.findings[0].what, "memory is full"));
}

TEST(DoctorOnPyTorchsWords, makes_a_hint_of_what_else_the_driver_reports) {
  const auto events = diagnosis_of_log(
      "[ 12.1] NVRM: Xid (PCI:0000:3b:00): 43, pid=77, Ch 00000008\n"
      "[ 12.2] NVRM: Xid (PCI:0000:3b:00): 45, pid=77, Ch 00000008\n"
      "[ 99.1] NVRM: Xid (PCI:0000:af:00): 63, Row Remapper: New row marked for remapping\n");
  EXPECT_TRUE(events.findings.empty());
  ASSERT_EQ(events.hints.size(), 2u);
  EXPECT_TRUE(says(events.hints[0].evidence, "43"));
  EXPECT_TRUE(says(events.hints[1].what, "were corrected"));
  EXPECT_EQ(diagnosis_of_log("[ 8.4] NVRM: GPU 0000:0a:00.0: rm_init_private_state failed!\n").hints.size(),
            1u);
  EXPECT_EQ(diagnosis_of_log("[ 12.1] NVRM: Xid (PCI:0000:3b:00): 43, pid=77\n" + kOffTheBus).hints.size(),
            1u);
}

}  // namespace
}  // namespace gradwire
