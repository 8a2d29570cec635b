#include <gtest/gtest.h>

#include "explain/case_file.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

NcclLog small_log(const std::string& lines) {
  ByteSource source{std::string_view(lines)};
  return read_nccl_log(source, "run.log");
}

Diagnosis diagnosis_of_log(const std::string& lines, const std::string& matrix = "") {
  CaseFile given;
  given.files.logs.push_back(small_log(lines));
  if (!matrix.empty()) given.files.matrices.push_back({"topo.txt", parse_matrix(matrix, "topo.txt")});
  return diagnose(given);
}

std::string first_rule(const Diagnosis& diagnosis) {
  return diagnosis.findings.empty() ? "" : diagnosis.findings[0].rule;
}

const std::string kShm = "n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n";
const std::string kP2p = "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
constexpr const char* kPair = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n";

TEST(Doctor, finds_the_variable_that_turns_peers_off_before_what_came_of_it) {
  const auto diagnosis =
      diagnosis_of_log("n:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n" + kShm);
  ASSERT_EQ(diagnosis.findings.size(), 1u);  // the transport is its consequence, not a second finding
  EXPECT_EQ(first_rule(diagnosis), "R06");
  EXPECT_EQ(diagnosis.findings[0].evidence, "run.log:1: NCCL_P2P_LEVEL set to LOC");
  EXPECT_EQ(diagnosis.nvlink.used, Answered::no);
}

TEST(Doctor, finds_host_memory_between_gpus) { EXPECT_EQ(first_rule(diagnosis_of_log(kShm)), "R05"); }

TEST(Doctor, blames_one_gpu_a_process_where_all_say_device_0) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          kShm + "n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n"
                 "n:2:2 [0] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 0 busId 2000 - Init COMPLETE\n")),
      "R17");
}

TEST(Doctor, finds_peers_that_are_blocked) {
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "n:1:2 [0] NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this\n" +
                kShm)),
            "R12");
}

TEST(Doctor, finds_cards_that_could_read_gpus_and_do_not) {
  const std::string cards = "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0\n";
  const std::string staged = "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(cards + staged)), "R38");
  EXPECT_EQ(first_rule(diagnosis_of_log(
                cards + "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n")),
            "");
  EXPECT_EQ(
      first_rule(diagnosis_of_log("n:1:2 [0] NCCL INFO NET/IB : Using [0]hfi1_0:1/IB ; OOB ib0\n" + staged)),
      "");  // Omni-Path can't
}

TEST(Doctor, finds_why_a_run_died) {
  EXPECT_EQ(first_rule(diagnosis_of_log(kP2p + "n:1:2 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to "
                                               "extend /dev/shm/nccl-AB to 9637892 bytes\n")),
            "R18");
  EXPECT_EQ(first_rule(diagnosis_of_log(kP2p + "n:1:2 [1] init.cc:902 NCCL WARN Duplicate GPU detected : "
                                               "rank 1 and rank 0 both on CUDA device 6000\n")),
            "R23");
}

TEST(Doctor, finds_why_a_run_died_in_the_words_of_any_version) {
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

TEST(Doctor, says_in_which_calls_ranks_waited_when_the_watchdog_ended_them) {
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
}

TEST(Doctor, finds_that_ranks_could_not_connect) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log("w:9:9 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
                                  "172.17.0.2<53821> failed : Software caused connection abort\n")),
      "R36");
}

TEST(Doctor, knows_from_the_graph_of_nccl_that_peers_talk_over_pcie_and_that_nvlink_may_cross_nodes) {
  const auto pcie = diagnosis_of_log(
      "h:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 12.0/12.0, type PHB/PIX, sameChannels 1\n"
      "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n");
  EXPECT_EQ(pcie.nvlink.used, Answered::no);
  const auto rack = diagnosis_of_log("gb:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL\n");
  EXPECT_EQ(rack.nvlink.used, Answered::yes);
}

TEST(Doctor, does_not_take_two_machines_of_one_name_for_one) {
  const std::string network =
      "box:1:2 [0] NCCL INFO Channel 00/0 : 1[2a000] -> 8[27000] [send] via NET/Socket/0\n";
  const auto rank = [](int number, const char* bus) {
    return fmt::format(
        "box:{}:2 [0] NCCL INFO comm 0x1 rank {} nranks 16 cudaDev 0 busId {} - Init COMPLETE\n", number + 10,
        number, bus);
  };
  EXPECT_EQ(first_rule(diagnosis_of_log(network + rank(1, "2a000") + rank(8, "27000"))), "R17");
  EXPECT_EQ(first_rule(diagnosis_of_log(network + rank(0, "27000") + rank(1, "2a000") + rank(8, "27000"))),
            "");
}

TEST(Doctor, finds_host_memory_also_where_a_variable_narrows_something_else) {
  const auto diagnosis =
      diagnosis_of_log("n:1:2 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 1.\n" + kShm);
  EXPECT_EQ(first_rule(diagnosis), "R05");
  EXPECT_EQ(diagnosis.findings.size(), 2u);
}

TEST(Doctor, knows_that_rccl_has_no_nvlink_and_only_hints_at_what_it_always_warns_of) {
  const auto diagnosis = diagnosis_of_log("RCCL version 2.20.5+hip6.2\n" + kP2p +
                                          "n:1:1 [0] init.cc:136 NCCL WARN Missing \"iommu=pt\" from kernel "
                                          "command line which can lead to a hang!\n");
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.hints.size(), 1u);
  EXPECT_EQ(diagnosis.nvlink.used, Answered::no);
}

TEST(Doctor, finds_nothing_in_a_healthy_log_and_says_what_it_looked_at) {
  const auto diagnosis =
      diagnosis_of_log(kP2p + "n:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to PIX\n");
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.looked_at, std::vector<std::string>{"a log of NCCL"});
  EXPECT_EQ(diagnosis.nvlink.used, Answered::unknown);  // P2P is NVLink or PCIe
}

TEST(Doctor, knows_that_nvlink_is_used_from_matrix_and_log_together) {
  EXPECT_EQ(diagnosis_of_log(kP2p, kPair).nvlink.used, Answered::yes);
  EXPECT_EQ(diagnosis_of_log(kShm, kPair).nvlink.used, Answered::no);
  EXPECT_EQ(diagnosis_of_log(kShm, kPair).nvlink.present, Answered::yes);
  EXPECT_EQ(diagnosis_of_log(kP2p + "n:1:2 [0] NCCL INFO P2P Chunksize set to 524288\n").nvlink.used,
            Answered::yes);
}

TEST(Doctor, finds_a_gpu_with_a_link_down) {
  CaseFile given;
  given.files.matrices.push_back(
      {"topo.txt",
       parse_matrix(
           "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV18\tNV17\nGPU1\tNV18\t X \tNV17\nGPU2\tNV17\tNV17\t X \n",
           "topo.txt")});
  const auto diagnosis = diagnose(given);
  ASSERT_EQ(first_rule(diagnosis), "R10");
  EXPECT_TRUE(diagnosis.findings[0].what.starts_with("GPU2 has fewer")) << diagnosis.findings[0].what;
}

TEST(Doctor, leaves_hybrid_meshes_and_bridged_pairs_alone) {
  CaseFile given;
  given.files.matrices.push_back(
      {"a", parse_matrix(
                "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV1\tNV2\nGPU1\tNV1\t X \tNV2\nGPU2\tNV2\tNV2\t X \n", "a")});
  given.files.matrices.push_back(
      {"b", parse_matrix(
                "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tNV4\t X \tSYS\nGPU2\tSYS\tSYS\t X \n", "b")});
  const auto diagnosis = diagnose(given);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_FALSE(diagnosis.hints.empty());
}

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
  for (int i = 0; i < 30; ++i) tiny.all_reduce(6100 + i * 100.0, 90, 1000 + i);
  EXPECT_EQ(first_rule(diagnose(case_of_trace(tiny))), "R24");

  SampleTrace search;
  search.step(0, 0, 10000).kernel(10, 9900);
  search.host("cpu_op", "torch.distributed.ddp.reducer::search_unused_parameters", 100, 500);
  EXPECT_EQ(first_rule(diagnose(case_of_trace(search))), "R25");

  SampleTrace buffers;
  buffers.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(1010, 8900);
  buffers.gpu("kernel", "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 10, 900, 20);
  EXPECT_EQ(first_rule(diagnose(case_of_trace(buffers))), "R27");
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
      dump.calls.push_back({"default_pg", call, "nccl:all_reduce", "completed", "[[8]]"});
    given.files.dumps.push_back(std::move(dump));
  }
  const auto diagnosis = diagnose(given);
  EXPECT_EQ(first_rule(diagnosis), "R35");
  EXPECT_NE(diagnosis.findings[0].what.find("rank 1 is behind: it never came to call 5"), std::string::npos)
      << diagnosis.findings[0].what;
}

TEST(Doctor, does_not_count_messages_between_two_ranks_when_it_looks_for_who_is_behind) {
  CaseFile given;
  for (int rank = 0; rank < 3; ++rank) {
    FlightDump dump{.file = "dump" + std::to_string(rank), .rank = rank, .calls = {}};
    dump.calls.push_back({"default_pg", 1, "nccl:all_reduce", "completed", "[[8]]"});
    if (rank < 2) dump.calls.push_back({"default_pg", 2, "send", "completed", "8 bytes", true});
    given.files.dumps.push_back(std::move(dump));
  }
  EXPECT_TRUE(diagnose(given).findings.empty());
}

Diagnosis diagnosis_of_script(const char* text) {
  CaseFile given;
  given.files.scripts.push_back(parse_script(text, "train.py"));
  return diagnose(given);
}

TEST(Doctor, reads_scripts) {
  EXPECT_EQ(
      first_rule(diagnosis_of_script("import torch\nmodel = DDP(model, find_unused_parameters=True)\n")),
      "R25");
  EXPECT_EQ(first_rule(diagnosis_of_script("import torch\nmodel = DDP(model.cuda())\n")), "R22");
  EXPECT_EQ(first_rule(diagnosis_of_script(
                "model = DDP(model)\nif (i + 1) % accum_steps == 0:\n    optimizer.step()\n")),
            "R26");
  EXPECT_EQ(first_rule(diagnosis_of_script(
                "out = model(x)\nwith model.no_sync():\n    loss.backward()\nmodel = DDP(model)\n")),
            "R26");
  EXPECT_EQ(first_rule(diagnosis_of_script(
                "local_rank = int(os.environ['LOCAL_RANK'])\ntorch.cuda.set_device(local_rank)\nmodel = "
                "DDP(model.cuda())\n"
                "with model.no_sync():\n    loss = model(x)\n    loss.backward()\n")),
            "");
}

}  // namespace
}  // namespace gradwire
