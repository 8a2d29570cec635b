#include "import/flight_recorder.h"

#include <gtest/gtest.h>

#include "base/error.h"
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

}  // namespace
}  // namespace gradwire
