#include "report/page/page_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "report/page/page_file.h"
#include "report/page/timelines.h"

namespace gradwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return bytes;
}

// As a browser does: DecompressionStream("deflate-raw").
std::string inflated(const std::string& bytes) {
  std::string out(1 << 20, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, -15), Z_OK);
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

template <typename T>
std::vector<T> column(const nlohmann::json& columns, const char* name) {
  const std::string bytes = inflated(from_base64(columns.at(name).get<std::string>()));
  std::vector<T> values;
  T sum = 0;
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T delta;
    std::memcpy(&delta, bytes.data() + i, sizeof delta);
    values.push_back(sum += delta);
  }
  return values;
}

Timeline two_steps() {
  Timeline timeline{"test", 2, {}, 8};
  for (int step = 0; step < 2; ++step)
    for (Rank rank = 0; rank < 2; ++rank) {
      const double at = step;
      timeline.spans.push_back({rank, step, SpanKind::forward, {}, at, at + 0.25});
      timeline.spans.push_back(
          {rank, step, SpanKind::bucket, "bucket 0", at + 0.5, at + 0.75, 0, 4096, at + 0.4});
    }
  return timeline;
}

TEST(Page, columns_are_read_back_as_they_were) {
  const auto drawn = drawn_timeline(two_steps(), "run", Origin::measured).timeline;
  const auto columns = columns_json(drawn.spans);
  EXPECT_THAT(column<std::int32_t>(columns, "lane"), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(column<std::int32_t>(columns, "step"), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(column<double>(columns, "begin_ns"), ElementsAre(0, 1e9, 5e8, 15e8, 0, 1e9, 5e8, 15e8));
  EXPECT_THAT(column<std::int32_t>(columns, "duration_ns"), ::testing::Each(250000000));
  EXPECT_THAT(column<double>(columns, "bytes"), ElementsAre(-1, -1, 4096, 4096, -1, -1, 4096, 4096));
  EXPECT_THAT(column<double>(columns, "ready_ns"), ElementsAre(-1, -1, 4e8, 14e8, -1, -1, 4e8, 14e8));
}

TEST(Page, durations_that_need_more_than_32_bits_have_them) {
  const std::vector<DrawnSpan> spans = {{.duration_ns = 3e9}, {.duration_ns = 1}};
  EXPECT_THAT(column<double>(columns_json(spans), "duration_ns"), ElementsAre(3e9, 1));
}

TEST(Page, base64_spells_ends_as_everybody_does) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Page, a_timeline_that_is_too_long_keeps_whole_steps_and_says_so) {
  const auto fitted = drawn_timeline(two_steps(), "run", Origin::measured, 6);
  EXPECT_EQ(fitted.timeline.spans.size(), 4u);
  EXPECT_THAT(fitted.note, HasSubstr("the first 4 of 8 spans"));
  EXPECT_EQ(drawn_timeline(two_steps(), "run", Origin::measured).note, "");
}

TEST(Page, a_training_run_shows_what_was_printed_and_its_steps) {
  TrainOptions options;
  options.model = "mlp";
  options.command = "gradwire train mlp -n 2";
  TrainResult result;
  result.ranks = 2;
  result.losses = {2, 1};
  result.step.forward = 0.25;
  const auto page = page_json(train_page(options, result, two_steps()));
  EXPECT_EQ(page["verb"], "train");
  EXPECT_EQ(page["command"], "gradwire train mlp -n 2");
  EXPECT_EQ(page["title"], "mlp on 2 ranks");
  EXPECT_EQ(page["data"]["loss_last"], 1);
  EXPECT_EQ(page["timelines"][0]["origin"], "measured");
  EXPECT_EQ(page["timelines"][0]["count"], 8);
}

TEST(Page, every_kind_of_block_has_its_fields) {
  Curves curves{.title = "t", .series = {{"s", {{1, 2}}}}, .x = "size", .y = "GB/s"};
  curves.format_x = [](double) { return std::string("one"); };
  StackedBars bars{.parts = {{"#", "forward", true}}, .bars = {{"a", "1 ms", {0.5}}}};
  EXPECT_EQ(block_json(Title{"t"}), (nlohmann::json{{"kind", "title"}, {"text", "t"}}));
  EXPECT_EQ(block_json(Gap{}), (nlohmann::json{{"kind", "gap"}}));
  EXPECT_EQ(block_json(curves)["series"][0]["points"][0], (nlohmann::json{1.0, 2.0, "one", ""}));
  curves.series[0].ranges = {{1.5, 3}};
  EXPECT_EQ(block_json(curves)["series"][0]["points"][0], (nlohmann::json{1.0, 2.0, "one", "", 1.5, 3.0}));
  EXPECT_EQ(block_json(bars)["bars"][0]["values"][0], 0.5);
  EXPECT_EQ(block_json(Grid{{"r"}, {"c"}, {{"x"}}})["cells"][0][0], "x");
  EXPECT_EQ(block_json(Table{{{"h"}}, 1, true})["prose_last"], true);
  EXPECT_EQ(block_json(Drawing{"|"})["text"], "|");
  EXPECT_EQ(block_json(Sentence{"s"})["kind"], "sentence");
}

TEST(Page, a_page_names_its_schema_and_rounds_what_it_shows) {
  PageData page;
  page.verb = "compare";
  page.report.data = {{"step_ms", 1.0 / 3}};
  const auto json = page_json(page);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["data"]["step_ms"], 0.333333333);
  EXPECT_FALSE(json.contains("question"));
  EXPECT_TRUE(json["timelines"].is_array());
}

}  // namespace
}  // namespace gradwire
