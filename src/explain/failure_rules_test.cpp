// What NCCL and the libraries below it print when a run dies.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

TEST(DoctorOnDeaths, finds_why_a_run_died) {
  EXPECT_EQ(first_rule(diagnosis_of_log(kP2p + "n:1:2 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to "
                                               "extend /dev/shm/nccl-AB to 9637892 bytes\n")),
            "R18");
  EXPECT_EQ(first_rule(diagnosis_of_log(kP2p + "n:1:2 [1] init.cc:902 NCCL WARN Duplicate GPU detected : "
                                               "rank 1 and rank 0 both on CUDA device 6000\n")),
            "R23");
}

TEST(DoctorOnDeaths, finds_why_a_run_died_in_the_words_of_any_version) {
  const auto rule_of = [](const std::string& line) { return first_rule(diagnosis_of_log(kP2p + line)); };
  EXPECT_EQ(rule_of("n:1:2 [4] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5> with "
                    "status=12 opcode=0 len=0 vendor err 129 (Recv)\n"),
            "R37");
  EXPECT_EQ(
      rule_of("n:1:2 [4] NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129\n"),
      "R37");
  EXPECT_EQ(rule_of("n:1:2 [2] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'\n"), "R20");
  EXPECT_EQ(rule_of("n:1:2 [3] misc/shmutils.cc:112 NCCL WARN Error while creating shared memory segment "
                    "/dev/shm/nccl-AB (size 5967872)\n"),
            "R18");
  EXPECT_EQ(
      rule_of("n:1:2 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.0.2<4> failed : No "
              "route to host\n"),
      "R36");
  EXPECT_EQ(
      rule_of("RuntimeError: NCCL error in: a.cpp:1, unhandled system error\nncclSystemError: System call\n"),
      "R00");
  EXPECT_EQ(
      rule_of("n:1:2 [0] graph/paths.cc:330 NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0. "
              "This should not be the case\n"),
      "R12");
  EXPECT_EQ(rule_of("n:1:2 [0] init.cc:36 NCCL WARN Cuda failure 802 'system not yet initialized'\n"
                    "DistBackendError: unhandled cuda error, NCCL version 2.18.3\n"),
            "R20");
  EXPECT_EQ(rule_of("n:1:2 [0] NCCL WARN Could not find real path of /sys/class/x\n"), "");
}

TEST(DoctorOnDeaths, finds_that_ranks_could_not_connect) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log("w:9:9 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
                                  "172.17.0.2<53821> failed : Software caused connection abort\n")),
      "R36");
}

TEST(DoctorOnDeaths, puts_what_one_rank_died_of_before_what_others_saw_of_it) {
  const std::string saw =
      "a:1:2 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.0.2<4> failed : abort\n";
  const std::string died =
      "b:1:2 [3] misc/shmutils.cc:112 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-A\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(saw + died)), "R18");
  EXPECT_EQ(first_rule(diagnosis_of_logs({saw, died})), "R18");
  EXPECT_EQ(diagnosis_of_logs({saw, died}).findings.size(), 2u);
}

TEST(DoctorOnDeaths, tells_the_cards_of_a_broken_network_from_what_a_process_may_not) {
  const auto said = [](const std::string& words) {
    return diagnosis_of_log("n:1:2 [4] misc/ibvwrap.cc:262 NCCL WARN Call to " + words + "\n");
  };
  EXPECT_EQ(first_rule(said("ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1")), "R37");
  EXPECT_NE(said("ibv_create_cq failed with error Cannot allocate memory").findings.at(0).what.find("lock"),
            std::string::npos);
  EXPECT_EQ(first_rule(said("ibv_reg_mr failed with error Bad address")), "R38");
}

TEST(DoctorOnDeaths, knows_the_function_that_newer_versions_name) {
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "[2026-08-24 17:57:25] n:1:2 [1] transport/nvls.cc:254 (ncclNvlsSetup) NCCL WARN "
                "Cuda failure 401 'the operation cannot be performed'\n")),
            "R20");
}

TEST(DoctorOnDeaths, takes_a_peer_that_does_not_answer_for_the_reason_only_where_there_is_no_other) {
  const std::string retry =
      "n:1:2 [4] NCCL INFO socketPollConnect: connect to 10.0.0.2<5> returned Connection refused, retrying "
      "(1/34)\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(retry + kP2p)), "");  // it answered in the end
  EXPECT_EQ(first_rule(diagnosis_of_log(retry + "ncclSystemError: System call failed\n")), "R36");
}

TEST(DoctorOnDeaths, names_what_does_not_fit_together) {
  const auto rule_of = [](const std::string& line) { return first_rule(diagnosis_of_log(line)); };
  EXPECT_EQ(
      rule_of(
          "a:1:51 [0] init.cc:1000 NCCL WARN Mismatched NCCL version detected : rank 0 version 22105 rank 1 "
          "version 22005\n[rank0]: ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"),
      "R07");
  EXPECT_EQ(rule_of("h:1:51 [0] init.cc:16 NCCL WARN Cuda failure 803 'system has unsupported display driver "
                    "/ cuda driver "
                    "combination'\n"),
            "R07");
  EXPECT_EQ(
      rule_of(
          "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was "
          "attempted on non supported HW\n"),
      "R07");
  EXPECT_EQ(rule_of("[rank0]: ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!\n"),
            "R23");
  EXPECT_EQ(rule_of("h:1:51 [0] init.cc:16 NCCL WARN Cuda failure 46 'all CUDA-capable devices are busy or "
                    "unavailable'\n"),
            "R23");
  EXPECT_EQ(rule_of("h:1:51 [0] enqueue.cc:9 NCCL WARN Cuda failure 220 'uncorrectable NVLink error detected "
                    "during the "
                    "execution'\n"),
            "R10");
}

TEST(DoctorOnDeaths, leaves_alone_what_processes_say_as_they_end) {
  EXPECT_EQ(first_rule(diagnosis_of_log(
                kP2p + "h:1:70 [0] socket.h:409 NCCL WARN Net : Connection closed by remote peer\n"
                       "h:1:60 [0] enqueue.cc:102 NCCL WARN Cuda failure 'driver shutting down'\n")),
            "");
}

TEST(DoctorOnDeaths, minds_the_network_between_nodes_where_there_are_several) {
  const std::string no_efa =
      "n:1:1 [0] ofi_init:1304 NCCL WARN NET/OFI Only EFA provider is supported\n"
      "n:1:1 [0] ofi_init:1355 NCCL WARN NET/OFI aws-ofi-nccl initialization failed\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(no_efa + kTwoNodes)), "R37");
  const auto inside = diagnosis_of_log(no_efa + kOneNode + kP2p);
  EXPECT_TRUE(inside.findings.empty() && inside.hints.empty());
  EXPECT_EQ(first_rule(diagnosis_of_log(no_efa + kTwoNodes + "n:1:2 [0] NCCL INFO Using network IB\n")), "");
  const auto unknown = diagnosis_of_log(no_efa);
  EXPECT_EQ(first_rule(unknown), "");
  EXPECT_EQ(unknown.hints.size(), 1u);
  EXPECT_EQ(first_rule(diagnosis_of_log(no_efa + "[rank0]: ncclSystemError: System call failed\n")), "R37");
}

TEST(DoctorOnDeaths, finds_ports_that_went_down_and_not_those_that_came_up) {
  const auto rule_of = [](const std::string& event) {
    return first_rule(diagnosis_of_log(
        kTwoNodes + "n:1:99 [0] transport/net_ib.cc:99 NCCL WARN NET/IB : mlx5_1:1 " + event));
  };
  EXPECT_EQ(rule_of("Got async event : port error\n"), "R37");
  EXPECT_EQ(rule_of("Got non-fatal async event: port error(10)\n"), "R37");
  EXPECT_EQ(rule_of("async fatal event on QP (0x7f): local access violation work queue error\n"), "R37");
  EXPECT_EQ(rule_of("Got async event : port active\n"), "");
  EXPECT_EQ(rule_of("Got async event : client reregistration event\n"), "");
  EXPECT_EQ(rule_of("Got non-fatal async event: GID table change(18)\n"), "");
}

TEST(DoctorOnDeaths, says_that_a_run_died_before_what_would_have_slowed_it) {
  const auto died =
      diagnosis_of_log(kShm + "n:1:2 [0] include/alloc.h:102 NCCL WARN Cuda failure 1 'invalid argument'\n");
  EXPECT_EQ(first_rule(died), "R00");
  EXPECT_EQ(died.findings.size(), 2u);
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "n:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n" + kShm +
                "n:1:2 [0] enqueue.cc:267 NCCL WARN Cuda failure 'operation not permitted'\n")),
            "R06");  // somebody's doing, and certain
  EXPECT_EQ(first_rule(diagnosis_of_log(
                kShm + "n:1:2 [0] enqueue.cc:74 NCCL WARN Cuda failure 'invalid device function'\n")),
            "R07");
  const auto full = diagnosis_of_log(
      kShm + "n:1:2 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-AB to 9 bytes\n");
  ASSERT_EQ(full.findings.size(), 2u);
  EXPECT_EQ(first_rule(full), "R18");
  EXPECT_EQ(full.findings[1].severity, Severity::medium);
}

TEST(DoctorOnDeaths, knows_that_a_peer_was_given_up_and_that_one_went_away) {
  const std::string tries =
      "n:1:2 [0] NCCL INFO socketPollConnect: connect returned Connection refused, retrying (";
  EXPECT_EQ(first_rule(diagnosis_of_log(tries + "33/34) after sleep for 3300 msec\n")), "");
  EXPECT_EQ(first_rule(diagnosis_of_log(tries + "34/34) after sleep for 3400 msec\n")), "R36");
  const std::string gone =
      "n:1:2 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer b<4>\n";
  const auto left = diagnosis_of_log(gone);
  EXPECT_TRUE(left.findings.empty());
  EXPECT_EQ(left.hints.size(), 1u);
  const auto failed = diagnosis_of_log(
      gone + "n:1:2 [0] proxy.cc:1519 NCCL WARN [Proxy Service 0] Failed to execute operation Connect\n");
  EXPECT_EQ(first_rule(failed), "R00");
  EXPECT_TRUE(failed.hints.empty());
}

TEST(DoctorOnDeaths, reads_what_other_libraries_and_runtimes_say) {
  const auto rule_of = [](const std::string& line) { return first_rule(diagnosis_of_log(line)); };
  EXPECT_EQ(
      rule_of("Failed: Cuda error custom_all_reduce.cuh:307 'peer access is not supported between these two "
              "devices'\n"),
      "R12");
  EXPECT_EQ(rule_of("g:1:2 [1] hipify/src/transport/p2p.cc:220 NCCL WARN hipIpcGetMemHandle failed : invalid "
                    "argument\n"),
            "R00");
  EXPECT_EQ(
      rule_of(
          "RuntimeError: DDP expects same model across all ranks, but Rank 0 has 30 params, while rank 1 has "
          "inconsistent 28 params.\n"),
      "R35");
  EXPECT_TRUE(says(
      diagnosis_of_log("RuntimeError: DDP expects same model across all ranks, but Rank 0 has 30 params, "
                       "while rank 1 has inconsistent 0 params.\n")
          .findings.at(0)
          .what,
      "brought nothing"));
  EXPECT_EQ(rule_of("[rank0]:[E804 ProcessGroupNCCL.cpp:1914] [PG ID 0 PG GUID 0(default_pg) Rank 0] "
                    "Received a dump signal due to a "
                    "collective timeout from  rank 13 and we will try our best to dump the debug info.\n"),
            "R35");
  EXPECT_EQ(rule_of("[rank3]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 3] Timeout at NCCL work: 1, last "
                    "enqueued NCCL work: 1\n"),
            "R35");
  EXPECT_EQ(rule_of("n:1:2 [3] ibvwrap.c:130 NCCL WARN Call to ibv_create_qp failed\n"), "R37");
  EXPECT_EQ(rule_of("    work = default_pg.barrier(opts=opts)\nRuntimeError: CUDA error: out of memory\n"),
            "R22");
}

TEST(DoctorOnDeaths, takes_what_fails_as_a_communicator_is_given_back_for_no_death) {
  const std::string refused =
      "[2025-06-17 21:49:04] n:1:1 [0] transport/p2p.cc:1128 NCCL WARN Cuda failure 1 'invalid argument'\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(kP2p + refused)), "R17");
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          kP2p + refused +
          "[2025-06-17 21:49:05] n:1:1 [0] init.cc:2143 NCCL WARN commReclaim: cleanup comm 0x98 rank 0 "
          "failed in destroy/abort, error 1\n")),
      "");
}

TEST(DoctorOnDeaths, takes_what_each_of_several_ranks_gives_back_for_no_death_whoever_speaks_between) {
  const auto refused = [](const std::string& thread) {
    return thread + " [0] transport/p2p.cc:1128 NCCL WARN Cuda failure 1 'invalid argument'\n";
  };
  const auto given_back = [](const std::string& thread) {
    return thread +
           " [0] init.cc:2143 NCCL WARN commReclaim: cleanup comm 0x98 rank 0 failed in destroy/abort, "
           "error 1\n";
  };
  const std::string both = kP2p + refused("n:1:1") + refused("n:2:2") + given_back("n:1:1");
  EXPECT_EQ(first_rule(diagnosis_of_log(both)), "R17");  // the other may have died of it
  EXPECT_EQ(first_rule(diagnosis_of_log(both + given_back("n:2:2"))), "");
}

TEST(DoctorOnDeaths, knows_what_plugins_say_of_networks_that_break) {
  const auto rule_of = [](const std::string& line) { return first_rule(diagnosis_of_log(line)); };
  EXPECT_EQ(
      rule_of("a:1:2 [0] ofi_process_cq:1033 NCCL WARN NET/OFI Request 0x7 completed with error. RC: 21. "
              "Error: unknown error\n"),
      "R37");
  EXPECT_EQ(rule_of("a:1:2 [0] get_ep:969 NCCL WARN NET/OFI Creating new endpoint for domain 0x7 failed: "
                    "Invalid argument\n"),
            "R37");
  const std::string closed =
      "n:1:2 [0] transport/net_ib.cc:117 NCCL WARN NET/IB : Unable to open device mlx5_6\n"
      "n:1:2 [0] NCCL INFO Using network Socket\n";
  EXPECT_EQ(rule_of(kTwoNodes + closed), "R37");
  EXPECT_EQ(rule_of(kOneNode + closed), "");
  EXPECT_EQ(rule_of("a:1:2 [0] graph/xml.h:77 NCCL WARN Attribute arch of node cpu not found\n"), "R19");
}

TEST(DoctorOnDeaths, reads_what_nccl_of_old_says_of_sockets) {
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "a:1:2 [0] include/socket.h:9 WARN Call to connect failed : Connection refused\n")),
            "R36");
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "include/socket.h:8 WARN Socket creation failed : Address family not supported\n")),
            "R36");
}

}  // namespace
}  // namespace gradwire
