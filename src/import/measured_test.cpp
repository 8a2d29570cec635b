#include "import/measured.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr const char* kPeerTest = R"([P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA GeForce RTX 3090, pciBusID: 1, pciDeviceID: 0, pciDomainID:0
P2P Connectivity Matrix
     D\D     0     1
     0	     1     1
     1	     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 831.56  11.18
     1  11.25 834.67
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\D     0      1
     0 833.34  52.75
     1  52.85 836.01
Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 838.25  16.72
     1  16.81 839.60
P2P=Disabled Latency Matrix (us)
   GPU     0      1
     0   1.58  11.08
     1  11.43   1.55
)";

TEST(RateTables, of_the_peer_test_have_their_titles_figures) {
  const auto tables = parse_rate_tables(kPeerTest);
  ASSERT_EQ(tables.size(), 3u) << "rates, no latencies";
  EXPECT_TRUE(tables[0].staged && !tables[0].both_ways);
  EXPECT_TRUE(!tables[1].staged && !tables[1].both_ways);
  EXPECT_TRUE(tables[2].staged && tables[2].both_ways);
  EXPECT_EQ(tables[1].gbps[0][1], 52.75);
  EXPECT_EQ(tables[2].gbps[1][0], 16.81);
}

TEST(RateTables, of_nvbandwidth_tell_host_from_peers_and_one_way_from_both) {
  const auto tables = parse_rate_tables(R"(nvbandwidth Version: v0.7
Running host_to_device_bidirectional_memcpy_ce.
memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)
           0         1
 0     18.56     18.37

SUM host_to_device_bidirectional_memcpy_ce 36.93

Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    102.17
 1    102.21       N/A
)");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_NE(tables[0].between, RateTable::Between::gpus);
  EXPECT_EQ(tables[1].between, RateTable::Between::gpus);
  EXPECT_TRUE(tables[1].both_ways);
  EXPECT_FALSE(tables[1].gbps[0][0].has_value());
  EXPECT_EQ(tables[1].gbps[0][1], 102.17);
}

TEST(RateTables, of_broken_text_end_where_it_breaks) {
  EXPECT_TRUE(parse_rate_tables("").empty());
  EXPECT_TRUE(parse_rate_tables("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)").empty());
  const auto tables = parse_rate_tables("Bandwidth Matrix (GB/s)\n 0 1\n 0 1.5 x\n 1 2 3\n");
  EXPECT_TRUE(tables.empty());
}

TEST(SizeTable, is_read_with_the_unit_of_its_header) {
  const auto times = parse_size_table("# bytes  us\n1048576 93.5\n16M 936\n", "a.txt");
  EXPECT_EQ(times.of, SizeTable::Of::time_us);
  ASSERT_EQ(times.rows.size(), 2u);
  EXPECT_EQ(times.rows[1].first, Bytes{16} << 20);
  EXPECT_EQ(times.rows[1].second, 936);
  EXPECT_EQ(parse_size_table("size,ms\n1048576,1.5\n", "a.csv").rows[0].second, 1500);
  EXPECT_EQ(parse_size_table("bytes GB/s\n1G 14\n", "a.txt").of, SizeTable::Of::busbw_gbps);
}

TEST(SizeTable, that_is_none_is_refused_by_name) {
  for (const char* text :
       {"", "hello", "1 2\n", "bytes us\n1M\n", "bytes us\n1M -3\n", "bytes us\n1M 2 3\n"}) {
    try {
      parse_size_table(text, "x.txt");
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find("x.txt"), 0u) << error.what();
    }
  }
}

}  // namespace
}  // namespace gradwire
