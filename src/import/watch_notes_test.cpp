#include "import/watch_notes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "import/file_kind.h"
#include "import/nvlink_traffic.h"
#include "import/profile.h"

namespace gradwire {
namespace {

TEST(NvlinkTraffic, is_the_difference_of_counters_of_the_same_gpus_and_survives_its_file) {
  const std::vector<NvmlTraffic> before = {{"A", "0000:01:00.0", 1000, 500},
                                           {"B", "0000:02:00.0", 7000, 7000}};
  const std::vector<NvmlTraffic> after = {{"B", "0000:02:00.0", 6000, 9000},
                                          {"A", "0000:01:00.0", 5000, 700}};
  const auto traffic = traffic_between(before, after);
  ASSERT_EQ(traffic.gpus.size(), 2u);
  EXPECT_EQ(traffic.gpus[0].sent, 0u);  // went back: the driver was loaded anew
  EXPECT_EQ(traffic.gpus[0].received, 2000u);
  EXPECT_EQ(traffic.gpus[1].sent, 4000u);
  EXPECT_EQ(traffic.most(), 4000u);
  const std::string text = nvlink_traffic_json(traffic);
  EXPECT_EQ(kind_of(text), FileKind::nvlink_traffic);
  EXPECT_EQ(parse_nvlink_traffic(text, "t").most(), 4000u);
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_THROW(parse_nvlink_traffic(text.substr(0, size), "t"), ConfigError);
}

constexpr const char* kNotes =
    R"({"gradwire_watch": 1, "rank": 1, "world": 2, "backend": "gloo", "torch": "1.13.0", "kineto": false, "steps": 30,
        "profiled": {"first": 10, "count": 8}, "step_ms": {"before": 20.5, "profiled": 22, "after": null}, "own_us": 12.5,
        "costs": {"start_ms": 1, "write_ms": 40}, "processor": {"cores": 1, "threads": 1, "waited_ms": 7.5},
        "ddp": {"find_unused_parameters": 1, "bucket_cap_bytes": 26214400, "num_parameter_tensors": 6,
                "bucket_sizes": "1048576, 405544", "unused_parameter_size": 0}, "problems": ["one"]})";

TEST(WatchNotes, are_known_by_their_content) { EXPECT_EQ(kind_of(kNotes), FileKind::watch_notes); }

TEST(WatchNotes, are_read) {
  const auto notes = parse_watch_notes(kNotes, "notes");
  EXPECT_EQ(notes.rank, 1);
  EXPECT_EQ(notes.profiled_steps, 8);
  EXPECT_EQ(notes.plain_ms(), 20.5);
  EXPECT_EQ(notes.waited_ms, 7.5);
  EXPECT_TRUE(notes.no_spare_core());
  ASSERT_TRUE(notes.ddp);
  EXPECT_TRUE(notes.ddp->find_unused_parameters);
  EXPECT_EQ(notes.ddp->unused_parameters, 0u);
  EXPECT_EQ(notes.ddp->buckets, (std::vector<Bytes>{1048576, 405544}));
  EXPECT_EQ(notes.problems, std::vector<std::string>{"one"});
}

TEST(WatchNotes, that_are_cut_or_absurd_are_refused_or_left_out) {
  const std::string whole = kNotes;
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    EXPECT_THROW(parse_watch_notes(whole.substr(0, size), "notes"), ConfigError);
  const auto odd = parse_watch_notes(
      R"({"gradwire_watch": 1, "rank": -3, "world": 1e300, "steps": "many", "ddp": {"bucket_sizes": "x, -1"}})",
      "notes");
  EXPECT_EQ(odd.rank, 0);
  EXPECT_EQ(odd.world, 1);
  EXPECT_TRUE(odd.ddp->buckets.empty());
}

// As PyTorch without Kineto writes it: no sizes anywhere.
constexpr const char* kArray =
    R"([{"ph": "X", "name": "DistributedDataParallel.forward", "pid": "CPU functions", "tid": 1, "ts": 0, "dur": 10, "args": {}},
        {"ph": "X", "name": "gloo:all_reduce", "pid": "CPU functions", "tid": 2, "ts": 20, "dur": 10, "args": {}},
        {"ph": "X", "name": "gloo:all_reduce", "pid": "CPU functions", "tid": 2, "ts": 40, "dur": 10, "args": {}},
        {"ph": "X", "name": "gloo:all_reduce", "pid": "CPU functions", "tid": 2, "ts": 60, "dur": 10, "args": {}}])";

TEST(WatchNotes, tell_a_trace_how_large_its_all_reduces_were) {
  ByteSource source{std::string_view(kArray)};
  Profile profile = read_profile(source, "trace_rank1.json");
  add_notes(parse_watch_notes(kNotes, "notes"), profile);
  EXPECT_EQ(profile.world, 2);
  ASSERT_EQ(profile.calls.size(), 3u);
  EXPECT_EQ(profile.calls[0].bytes, 1048576u);
  EXPECT_EQ(profile.calls[1].bytes, 405544u);
  EXPECT_EQ(profile.calls[2].bytes, 6u * 4);  // which of the six parameters were used
}

TEST(WatchNotes, do_not_guess_where_calls_and_buckets_differ_in_number) {
  ByteSource source{std::string_view(kArray)};
  Profile profile = read_profile(source, "trace_rank1.json");
  auto notes = parse_watch_notes(kNotes, "notes");
  notes.ddp->buckets.push_back(7);
  add_notes(notes, profile);
  EXPECT_TRUE(profile.calls.empty());
}

}  // namespace
}  // namespace gradwire
