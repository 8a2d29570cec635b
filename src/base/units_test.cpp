#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ParseBytes, reads_plain_numbers_and_suffixes_as_nccl_tests_does) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("65536"), 65536u);
  EXPECT_EQ(parse_bytes("64K"), 65536u);
  EXPECT_EQ(parse_bytes("64k"), 65536u);
  EXPECT_EQ(parse_bytes("1.5M"), 3u << 19);
  EXPECT_EQ(parse_bytes("2G"), 1ull << 31);
  EXPECT_EQ(parse_bytes("1T"), 1ull << 40);
}

TEST(ParseBytes, takes_KiB_as_1024_and_KB_as_1000) {
  EXPECT_EQ(parse_bytes("1 KiB"), 1024u);
  EXPECT_EQ(parse_bytes("1KB"), 1000u);
  EXPECT_EQ(parse_bytes(" 25 MB "), 25'000'000u);
  EXPECT_EQ(parse_bytes("7 B"), 7u);
}

TEST(ParseBytes, refuses_what_is_not_a_size_and_shows_how_to_write_one) {
  for (const char* text : {"", " ", "K", "-1", "ten", "1X", "1KK", "1..5", "nan", "inf", "0x10", "1,5"})
    EXPECT_THAT(refusal([&] { parse_bytes(text); }), HasSubstr("64K")) << text;
  EXPECT_THAT(refusal([] { parse_bytes("1e30"); }), HasSubstr("more bytes than any machine holds"));
}

TEST(ParseSizes, reads_lists_ranges_and_ranges_with_a_factor) {
  EXPECT_THAT(parse_sizes("4,64K,1M"), ElementsAre(4, 65536, 1 << 20));
  EXPECT_THAT(parse_sizes("8:64"), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(parse_sizes("8:1K:4"), ElementsAre(8, 32, 128, 512));
  EXPECT_THAT(parse_sizes("4,1K:2K"), ElementsAre(4, 1024, 2048));
  EXPECT_THAT(parse_sizes("7:7"), ElementsAre(7));
}

TEST(ParseSizes, gives_a_size_once_when_the_factor_is_small) {
  EXPECT_THAT(parse_sizes("1:4:1.2"), ElementsAre(1, 2, 3));
}

TEST(ParseSizes, refuses_ranges_that_never_end_or_run_backwards) {
  for (const char* text : {"8:4", "0:8", "8:16:1", "8:16:0.5", "8:16:1.0000001", "8:16:2:2", "8:16:2x"})
    EXPECT_THAT(refusal([&] { parse_sizes(text); }), HasSubstr("FIRST:LAST")) << text;
  EXPECT_THROW(parse_sizes("8:"), ConfigError);
  EXPECT_THROW(parse_sizes(""), ConfigError);
  EXPECT_THROW(parse_sizes("4,,8"), ConfigError);
}

TEST(FormatBytes, uses_the_largest_unit_that_is_not_below_one) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(3 << 19), "1.5 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(1ull << 50), "1024 TiB");
}

TEST(FormatBytes, is_read_back_by_parse_bytes) {
  for (const Bytes bytes : {0ull, 1ull, 1024ull, 1536ull, 1ull << 30, 5ull << 40})
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
}

TEST(FormatSeconds, gives_three_digits_in_a_unit_people_read) {
  EXPECT_EQ(format_seconds(0), "0 ns");
  EXPECT_EQ(format_seconds(2.3e-7), "230 ns");
  EXPECT_EQ(format_seconds(1.234e-5), "12.3 us");
  EXPECT_EQ(format_seconds(0.0981), "98.1 ms");
  EXPECT_EQ(format_seconds(1.5), "1.5 s");
  EXPECT_EQ(format_seconds(-0.002), "-2 ms");
}

TEST(FormatSeconds, never_falls_back_to_powers_of_ten) {
  EXPECT_EQ(format_seconds(0.0009999), "1000 us");
  EXPECT_EQ(format_seconds(5400), "5400 s");
}

TEST(ParseSeconds, reads_the_units_of_the_command_line) {
  EXPECT_DOUBLE_EQ(parse_seconds("30"), 30);
  EXPECT_DOUBLE_EQ(parse_seconds("2.5s"), 2.5);
  EXPECT_DOUBLE_EQ(parse_seconds("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(parse_seconds("20us"), 20e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("5m"), 300);
  EXPECT_DOUBLE_EQ(parse_seconds("2h"), 7200);
}

TEST(ParseSeconds, refuses_what_is_not_a_time) {
  for (const char* text : {"", "soon", "-1", "5d", "inf"})
    EXPECT_THAT(refusal([&] { parse_seconds(text); }), HasSubstr("500ms")) << text;
}

}  // namespace
}  // namespace gradwire
