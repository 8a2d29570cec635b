#include "import/nccl_log.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

NcclLog log_of(std::string_view text) {
  ByteSource source(text);
  return read_nccl_log(source, "run.log");
}

TEST(NcclLog, tells_transports_of_every_version) {
  const NcclLog log = log_of(
      "NCCL version 2.7.8+cuda10.2\n"
      "n0:1:2 [0] NCCL INFO Channel 00 : 0[1a000] -> 1[1c000] via P2P/IPC\n"
      "n0:1:2 [0] NCCL INFO Channel 01 : 0[1a000] -> 1[1c000] via P2P/IPC\n"
      "n0:1:2 [0] NCCL INFO Channel 00 : 1[8a000] -> 0[7000] via direct shared memory\n"
      "n0:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via SHM/direct/direct\n"
      "n0:1:2 [0] NCCL INFO Ring 00 : 3[160] -> 4[160] [send] via NET/AWS Libfabric/0\n"
      "n0:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 14[6] [send] via NET/IB/6(1)/GDRDMA\n");
  EXPECT_EQ(log.version, "2.7.8");
  ASSERT_EQ(log.transports.size(), 5u);
  EXPECT_EQ(log.find(Transport::p2p)->times, 2);
  EXPECT_EQ(log.find(Transport::shared_memory)->line, 4);
  EXPECT_EQ(log.transports[3].via, "NET/AWS Libfabric");
  EXPECT_EQ(log.transports[4].via, "NET/IB/GDRDMA");
  EXPECT_TRUE(log.transports[4].gpudirect);
  EXPECT_EQ(log.network_pairs.back(), std::pair(7, 14));
}

TEST(NcclLog, tells_how_fast_the_slowest_card_is) {
  const NcclLog cards = log_of(
      "n:1:2 [0] NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x5 "
      "pciPath=/sys ar=1\n"
      "n:1:2 [0] NCCL INFO NET/IB: [1] mlx5_1:uverbs1:1/IB provider=Mlx5 speed=200000 context=0x6 "
      "pciPath=/sys ar=1\n");
  EXPECT_EQ(cards.card_gbit, 200);
  const NcclLog picture =
      log_of("n:1:2 [0] NCCL INFO                      + NET[12.5] - NET/0 (0/0/12.500000)\n");
  EXPECT_EQ(picture.card_gbit, 100);
  EXPECT_FALSE(log_of("n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0\n").card_gbit);
}

TEST(NcclLog, tells_places_variables_and_what_it_warned_of) {
  const NcclLog log = log_of(
      "\x1b[36m(worker)\x1b[0m box:7:9 [1] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n"
      "box:7:7 [1] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
      "box:7:7 [1] NCCL INFO ncclCommInitRank comm 0xe5 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 6000 "
      "commId 0x1 - Init START\n"
      "box:7:7 [1] NCCL INFO comm 0xe5 rank 1 nRanks 2 nNodes 1 localRanks 2 localRank 1 MNNVL 0\n"
      "box:7:7 [1] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:1.2.3.4<0>\n"
      "box:7:7 [1] NCCL INFO P2P Chunksize set to 524288\n"
      "[2025-07-09 00:57:25] box:7:7 [1] graph/search.cc:1127 NCCL WARN Could not find a path for pattern 4\n"
      "box:7:7 [1] NCCL INFO Pattern 4, crossNic 0, nChannels 12, bw 20.0/20.0, type NVL/PIX, sameChannels "
      "1\n");
  EXPECT_EQ(log.variables.at("NCCL_P2P_LEVEL").text, "LOC");
  EXPECT_EQ(log.variables.at("NCCL_IB_DISABLE").text, "1");
  EXPECT_EQ(log.nodes, 1);
  EXPECT_EQ(log.ranks, 2);
  EXPECT_EQ(log.cards, (std::set<std::string>{"mlx5_0", "mlx5_1"}));
  EXPECT_TRUE(log.roce);
  EXPECT_EQ(log.p2p_chunk, 524288);
  EXPECT_EQ(log.warnings.at(0).line, 7);
  EXPECT_EQ(log.path_types.count("NVL/PIX"), 1u);
  ASSERT_EQ(log.places.size(), 1u);
  EXPECT_EQ(log.places[0].host, "box");
  EXPECT_EQ(log.places[0].bus, "6000");
}

TEST(NcclLog, tells_ranks_of_the_oldest_and_hosts_behind_a_launchers_prefix) {
  const NcclLog log = log_of(
      "n0:1:2 [0] NCCL INFO Ring 00 : 3 -> 4 [send] via NET/Socket/0\n"
      "[1,0]<stdout>:box:10:11 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n"
      "[2] n2:22:23 [0] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 0 busId 2000 - Init COMPLETE\n");
  EXPECT_EQ(log.network_pairs, (std::vector{std::pair(3, 4)}));
  ASSERT_EQ(log.places.size(), 2u);
  EXPECT_EQ(log.places[0].host, "box");
  EXPECT_EQ(log.places[1].host, "n2");
}

TEST(NcclLog, takes_rccls_lines_for_the_same_means_whichever_communicator_they_name) {
  const NcclLog log = log_of(
      "RCCL version : 2.22.3-HEAD:271856d\n"
      "g0:1:2 [0] NCCL INFO Channel 00/0 : 0[c1000] -> 2[c9000] via P2P/IPC comm 0x10a5 nRanks 08\n"
      "g0:1:3 [1] NCCL INFO Channel 00/0 : 1[c6000] -> 3[ce000] via P2P/IPC comm 0x9e4d nRanks 08\n"
      "g0:1:3 [1] NCCL INFO Channel 02/0 : 1[c6000] -> 4[c1000] [send] via NET/Socket/1 comm 0x9e4d nRanks "
      "08\n");
  EXPECT_TRUE(log.rccl);
  EXPECT_EQ(log.version, "2.22.3");
  ASSERT_EQ(log.transports.size(), 2u);
  EXPECT_EQ(log.transports[0].via, "P2P/IPC");
  EXPECT_EQ(log.transports[0].times, 2);
  EXPECT_EQ(log.transports[1].via, "NET/Socket");
}

TEST(NcclLog, keeps_the_source_that_warns_and_leaves_full_disks_alone) {
  const NcclLog log = log_of(
      "[2025-05-10 23:09:41] n:1:2 [2] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'\n"
      "OSError: [Errno 28] No space left on device: '/data/model.pt'\n"
      "RuntimeError: unable to write to file </torch_77>: No space left on device\n");
  EXPECT_EQ(log.warnings.at(0).text, "nvls.cc:254 Cuda failure 1 'invalid argument'");
  ASSERT_EQ(log.failures.size(), 1u);
  EXPECT_EQ(log.failures[0].line, 3);
}

TEST(NcclLog, unwraps_lines_that_a_container_wrote_as_json_and_parts_those_that_ran_together) {
  const NcclLog wrapped = log_of(
      R"({"log":"n:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n","stream":"stderr","time":"2024"})"
      "\n"
      R"({"ts":"2024","msg":"n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"})"
      "\n");
  EXPECT_EQ(wrapped.variables.at("NCCL_P2P_LEVEL").text, "LOC");
  EXPECT_EQ(wrapped.transports.at(0).via, "SHM/direct/direct");
  const NcclLog glued = log_of(
      "n:1:2 [0] NCCL INFO Connected all ringsn:3:4 [1] NCCL INFO NCCL_P2P_DISABLE set by environment to "
      "1.\n");
  EXPECT_EQ(glued.variables.at("NCCL_P2P_DISABLE").text, "1");
  EXPECT_EQ(glued.nccl_lines, 2);
}

TEST(NcclLog, keeps_peers_by_the_drivers_numbers_and_no_places_of_parts_of_the_run) {
  const NcclLog log = log_of(
      "n:1:2 [1] NCCL INFO ncclCommInitRank comm 0x1 rank 5 nranks 8 cudaDev 1 busId 6000 - Init START\n"
      "n:1:2 [1] NCCL INFO ncclCommSplit comm 0x2 rank 1 nranks 2 cudaDev 1 busId 6000 - Init START\n"
      "n:1:2 [1] NCCL INFO Channel 00/0 : 5[1] -> 6[2] via P2P/CUMEM\n"
      "n:1:2 [1] NCCL INFO Channel 00 : 5[6000] -> 6[b000] via P2P/IPC\n");
  ASSERT_EQ(log.places.size(), 1u);
  EXPECT_EQ(log.places[0].rank, 5);
  EXPECT_EQ(log.peers, (std::vector<LoggedPeers>{{1, 2}}));
}

TEST(NcclLog, joins_what_ranks_of_one_run_wrote_and_not_two_runs) {
  const auto rank = [](int number, const char* host) {
    return log_of(std::string(host) + ":1:2 [0] NCCL INFO comm 0x1 rank " + std::to_string(number) +
                  " nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n");
  };
  const auto run = find_joined({rank(0, "a"), rank(1, "b")});
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->places.size(), 2u);
  EXPECT_TRUE(run->spans_nodes());
  EXPECT_FALSE(find_joined({rank(0, "a"), rank(0, "b")}).has_value());
}

TEST(NcclLog, survives_garbage_and_refuses_another_programs_log) {
  EXPECT_THROW(log_of("hello\nworld\n"), ConfigError);
  EXPECT_THROW(log_of(""), ConfigError);
  EXPECT_EQ(log_of("n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 0 cudaDev 0 busId 1000\n").ranks,
            std::nullopt);
  const std::string odd =
      "NCCL INFO Channel ] -> [ via \nNCCL INFO  via\nNCCL INFO Channel 0 : [] -> via /\nNCCL INFO rank "
      "99999999999999 busId\n" +
      std::string(200000, 'x') + "\nNCCL WARN \xff\x1b[";
  const NcclLog log = log_of(odd);
  EXPECT_TRUE(log.cut_lines);
  EXPECT_EQ(log.nccl_lines, 5);
}

TEST(NcclLog, reads_the_numbers_that_2_5_wrote_for_ways_and_the_devices_of_2_4) {
  const NcclLog log = log_of(
      "n:1:2 [0] NCCL INFO GPU/1000 :GPU/1000 (0/5000/0) GPU/2000 (2/12/4) CPU/0 (1/12/4)\n"
      "n:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 1, speed 21/21, nvlink 1, type 1, sameChannels "
      "1\n"
      "n:1:2 [0] NCCL INFO comm 0x7f rank 1 nranks 2 cudaDev 0 nvmlDev 3 - Init COMPLETE\n");
  EXPECT_EQ(log.gpu_paths, std::set<std::string>{"PHB"});
  EXPECT_EQ(log.path_types, std::set<std::string>{"NVL"});
  ASSERT_EQ(log.places.size(), 1u);
  EXPECT_EQ(log.places[0].bus, "3");
}

TEST(NcclLog, knows_cards_by_whichever_plugin_names_them_and_which_of_them_were_used) {
  const NcclLog log = log_of(
      "n:1:2 [0] NCCL INFO NET/IBext_v8 : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/IB/SHARP [RO]; OOB eth0\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IBext_v8/1(3)/GDRDMA\n");
  EXPECT_EQ(log.cards, (std::set<std::string>{"mlx5_0", "mlx5_1"}));
  EXPECT_EQ(log.used_cards, std::set<int>{1});
  const NcclLog joined = log_of(
      "n:1:2 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [1]={[2] mlx5_0:1/RoCE} "
      "[RO]; OOB bond0.5:10.0.0.9<0>\n");
  EXPECT_EQ(joined.cards, (std::set<std::string>{"mlx5_0", "mlx5_2", "mlx5_3"}));
  EXPECT_TRUE(joined.roce);
}

TEST(NcclLog, reads_lines_over_the_borders_of_blocks_and_through_escapes) {
  const std::string plain = "n0:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM";
  const std::string coloured =
      "\x1b[36mn0:1:2 [0]\x1b[0m NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\r";
  constexpr int kTimes = 12000;  // several blocks
  std::string text;
  for (int i = 0; i < kTimes; ++i) text += plain + "\n" + coloured + "\n" + std::string(i % 97, '.') + "\n";
  const NcclLog log = log_of(text + plain);  // the last without an end
  EXPECT_EQ(log.lines, 3 * kTimes + 1);
  EXPECT_EQ(log.nccl_lines, 2 * kTimes + 1);
  ASSERT_EQ(log.transports.size(), 1u);
  EXPECT_EQ(log.transports[0].times, 2 * kTimes + 1);
  EXPECT_EQ(log.hosts, std::set<std::string>{"n0"});
}

TEST(NcclLog, passes_over_what_it_says_of_calls) {
  const NcclLog log = log_of(
      "n:1:2 [0] NCCL INFO AllReduce: opCount 28c sendbuff 0x7f count 99 datatype 7 op 0 root 0 comm 0x56 "
      "rank 1 nranks "
      "8 busId 1000 [nranks=4] stream 0x5\n"
      "n:1:2 [0] NCCL INFO AllReduce: 4194304 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..1}\n"
      "n:1:2 [0] NCCL INFO ## [10042496.466647] [03:01] 00028c KL hwid 42802110 funcIndex 1508\n");
  EXPECT_EQ(log.nccl_lines, 3);
  EXPECT_TRUE(log.places.empty());
}

TEST(NcclLog, keeps_the_error_behind_a_long_line_and_a_peer_that_was_given_up) {
  const NcclLog log =
      log_of("[E] " + std::string(600, 'x') +
             " ncclRemoteError: A call failed. Last error: NET/IB : Got completion with error 12\n"
             "n:1:2 [0] NCCL INFO socketPollConnect: connect returned No route to host, retrying (9/34)\n"
             "n:1:2 [0] NCCL INFO socketPollConnect: connect returned No route to host, retrying (34/34)\n");
  ASSERT_FALSE(log.failures.empty());
  EXPECT_EQ(log.failures[0].text, "NET/IB : Got completion with error 12");
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_EQ(log.warnings[0].line, 3);
  EXPECT_EQ(log.refused->times, 2);
}

TEST(NcclLog, keeps_each_warning_once_of_ever_so_many) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += "n:1:2 [0] init.cc:1 NCCL WARN odd " + std::to_string(i % 1500) + "\n";
  const NcclLog log = log_of(text);
  EXPECT_EQ(log.warnings.size(), 1000u);
  EXPECT_EQ(log.warnings[3].times, 4);
}

TEST(NcclLog, reads_what_2_3_says_of_its_network_and_its_ranks) {
  const auto log = log_of(
      "a:7:7 [1] NCCL INFO NET : Using interface ib0:10.9.0.4<0>\n"
      "a:7:7 [1] NCCL INFO NET/IB: [0] mlx5_2:1/IB\na:7:7 [1] NCCL INFO NET/IB: [1] mlx5_3:1/RoCE\n"
      "a:7:7 [1] NCCL INFO Using internal Network IB\na:7:7 [1] NCCL INFO rank 5 nranks 12\n");
  EXPECT_EQ(log.network.text, "IB");
  EXPECT_EQ(log.cards, (std::set<std::string>{"mlx5_2", "mlx5_3"}));
  EXPECT_TRUE(log.roce);
  EXPECT_EQ(log.interfaces, std::set<std::string>{"ib0"});
  EXPECT_EQ(log.addresses, std::set<std::string>{"10.9.0.4"});
  EXPECT_EQ(log.ranks, 12);
}

TEST(NcclLog, knows_lines_of_versions_that_did_not_name_themselves) {
  const auto log = log_of(
      "box:31:35 [2] INFO Ring 00 : 2[2] -> 3[3] via P2P/IPC\n"
      "box:31:35 [2] include/socket.h:99 WARN Call to connect failed : Connection refused\n"
      "include/socket.h:41 WARN Socket creation failed\n");
  EXPECT_EQ(log.nccl_lines, 3);
  ASSERT_EQ(log.transports.size(), 1u);
  EXPECT_EQ(log.transports[0].transport, Transport::p2p);
  ASSERT_EQ(log.warnings.size(), 2u);
  EXPECT_EQ(log.warnings[0].text, "socket.h:99 Call to connect failed : Connection refused");
  EXPECT_EQ(log.hosts, std::set<std::string>{"box"});
  EXPECT_THROW(log_of("2026-11-18 10:00:00,1 INFO trainer: epoch 1\n[3] INFO step\n12:30:01 WARN slow\n"),
               ConfigError);
}

}  // namespace
}  // namespace gradwire
