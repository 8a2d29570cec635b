#include "import/flight_recorder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "import/file_kind.h"
#include "import/pickle.h"

namespace gradwire {
namespace {

using std::string_view_literals::operator""sv;

// pickle.dumps({"entries": [{"seq_id": 7, "state": "completed", "t": (1.5, None, True)}], "n": -2}, 2)
constexpr std::string_view kPickled =
    "\x80\x02}q\x00(X\x07\x00\x00\x00"
    "entriesq\x01]q\x02}q\x03(X\x06\x00\x00\x00seq_idq\x04K\x07X\x05\x00\x00\x00stateq\x05X\x09\x00\x00\x00"
    "completedq\x06X\x01\x00\x00\x00tq\x07G\x3f\xf8\x00\x00\x00\x00\x00\x00N\x88\x87q\x08u"
    "aX\x01\x00\x00\x00nq\x09J\xfe\xff\xff\xffu."sv;

TEST(FlightRecorder, says_who_is_in_a_group_and_how_much_a_call_moves) {
  const auto dump = parse_flight_dump(
      R"({"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 5]"}}, "rank": 5,
          "entries": [{"process_group": ["0", "default_pg"], "collective_seq_id": 7, "profiling_name": "nccl:all_reduce",
          "input_sizes": [[3, 4], [2]], "input_dtypes": ["Float", "BFloat16"], "state": "started", "timeout_ms": 600000,
          "time_created_ns": 17, "time_discovered_started_ns": 18, "time_discovered_completed_ns": null}]})",
      "dump.json");
  EXPECT_EQ(dump.rank, 5);
  EXPECT_EQ(dump.members.at("default_pg"), (std::vector<int>{0, 1, 5}));
  ASSERT_EQ(dump.calls.size(), 1u);
  EXPECT_EQ(dump.calls[0].bytes, 3 * 4 * 4 + 2 * 2);
  EXPECT_EQ(dump.calls[0].made_ns, 17);
  EXPECT_EQ(dump.calls[0].latest_ns, 18);
  EXPECT_EQ(dump.calls[0].timeout_ms, 600000);
}

TEST(Pickle, builds_lists_dicts_texts_and_numbers) {
  EXPECT_EQ(parse_pickle(kPickled),
            nlohmann::json::parse(
                R"({"entries": [{"seq_id": 7, "state": "completed", "t": [1.5, null, true]}], "n": -2})"));
}

TEST(Pickle, refuses_to_call_anything) {
  EXPECT_THROW(parse_pickle("\x80\x02"
                            "cos\nsystem\nq\x00X\x02\x00\x00\x00lsq\x01\x85q\x02Rq\x03."sv),
               ConfigError);
  EXPECT_THROW(parse_pickle("\x80\x04\x93."sv), ConfigError);
}

TEST(Pickle, refuses_what_is_cut_or_holds_itself) {
  for (std::size_t size = 0; size < kPickled.size(); ++size)
    EXPECT_THROW(parse_pickle(kPickled.substr(0, size)), ConfigError);
  EXPECT_THROW(parse_pickle("\x80\x02]q\x00h\x00"
                            "a."sv),
               ConfigError);
  std::string bomb = "\x80\x02]q";
  bomb += '\0';
  for (int i = 1; i < 60; ++i) {  // every list holds the one before it nine times
    bomb += ']';
    bomb += '(';
    for (int j = 0; j < 9; ++j) bomb += std::string("h") + static_cast<char>(i - 1);
    bomb += std::string("eq") + static_cast<char>(i);
  }
  EXPECT_THROW(parse_pickle(bomb + "."), ConfigError);
}

TEST(FlightDump, is_read_from_json_and_pickle) {
  const auto dump = parse_flight_dump(
      R"({"version": "2.10", "entries": [{"collective_seq_id": 3, "process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce",
          "state": "started", "input_sizes": [[1024]]}]})",
      "dumps/trace_5");
  EXPECT_EQ(dump.rank, 5);
  ASSERT_EQ(dump.calls.size(), 1u);
  EXPECT_EQ(dump.calls[0].group, "default_pg");
  EXPECT_EQ(dump.calls[0].sequence, 3);
  EXPECT_EQ(dump.calls[0].sizes, "[[1024]]");
  EXPECT_EQ(parse_flight_dump(kPickled, "x").calls.at(0).sequence, 7);
  EXPECT_THROW(parse_flight_dump("{}", "x"), ConfigError);
  EXPECT_THROW(parse_flight_dump("{\"entries\": [", "x"), ConfigError);
}

// As comm/flight_recorder.h lays it out: a head of 64 bytes, records of 48.
std::string own_file(int records, int rank, std::uint32_t group = 0) {
  std::string bytes(64 + static_cast<std::size_t>(records) * 48, '\0');
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  std::memcpy(bytes.data(), "GWFLIGHT", 8);
  put(8, std::uint32_t{1});
  put(12, static_cast<std::uint32_t>(records));
  put(16, static_cast<std::uint32_t>(rank));
  put(24, group);
  put(28, std::uint32_t{48});
  for (int i = 0; i + 1 < records; ++i) {  // the last place is not used yet
    const std::size_t at = 64 + static_cast<std::size_t>(i) * 48;
    put(at, static_cast<std::uint64_t>(100 + i));
    put(at + 8, std::uint64_t{4096});
    put(at + 40, static_cast<std::uint8_t>(i + 2 == records ? 1 : 2));
  }
  return bytes;
}

TEST(FlightDump, may_be_a_list_alone) {
  const auto dump =
      parse_flight_dump(R"([{"seq_id": 3, "profiling_name": "nccl:all_reduce", "state": "started"}])", "d");
  ASSERT_EQ(dump.calls.size(), 1u);
  EXPECT_EQ(dump.calls[0].sequence, 3);
  EXPECT_EQ(dump.calls[0].name, "nccl:all_reduce");
  EXPECT_EQ(dump.calls[0].state, CallState::started);
  EXPECT_FALSE(dump.calls[0].has_ended());
  EXPECT_THROW(parse_flight_dump("[1, 2]", "d"), ConfigError);
}

TEST(OwnFlightFile, is_read_oldest_first_without_unused_places) {
  const auto dump = parse_flight_dump(own_file(5, 3, 7), "flight_rank3_7.bin");
  EXPECT_EQ(dump.rank, 3);
  ASSERT_EQ(dump.calls.size(), 4u);
  EXPECT_EQ(dump.calls[0].sequence, 100);
  EXPECT_EQ(dump.calls[0].name, "all_reduce");
  EXPECT_EQ(dump.calls[0].group, "7");
  EXPECT_EQ(dump.calls[3].state, CallState::started);
  EXPECT_EQ(kind_of(own_file(5, 3)), FileKind::flight_recorder);
}

TEST(OwnFlightFile, that_is_cut_or_absurd_gives_less_or_is_refused) {
  const std::string whole = own_file(5, 3);
  for (std::size_t size = 8; size < 32; ++size)
    EXPECT_THROW(parse_flight_dump(whole.substr(0, size), "cut"), ConfigError);
  EXPECT_EQ(parse_flight_dump(whole.substr(0, 64 + 48 * 2 + 7), "cut").calls.size(), 2u);
  std::string many = whole;
  many[15] = '\x7f';
  EXPECT_THROW(parse_flight_dump(many, "many"), ConfigError);
}

}  // namespace
}  // namespace gradwire
