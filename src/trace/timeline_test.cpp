#include "trace/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/files.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

Timeline sample() {
  return {"gradwire train mlp, shm",
          2,
          {{.rank = 0, .step = 0, .kind = SpanKind::forward, .name = {}, .begin = 0.001, .end = 0.0035},
           {.rank = 1,
            .step = 3,
            .kind = SpanKind::other,
            .name = "a \"name\"\n",
            .begin = 1,
            .end = 2.000000001},
           {.rank = 1,
            .step = 3,
            .kind = SpanKind::bucket,
            .name = "bucket 2",
            .begin = 0.25,
            .end = 0.5,
            .bucket = 2,
            .bytes = 25 << 20,
            .ready = 0.125}},
          8,
          true};
}

std::string message_of(const std::string& json) {
  try {
    parse_timeline(json, "t.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// The sample with one piece of its text replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = timeline_json(sample());
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Timeline, is_read_as_it_was_written) {
  const auto read = parse_timeline(timeline_json(sample()), "t.json");
  const auto wrote = sample();
  EXPECT_EQ(read.source, wrote.source);
  EXPECT_EQ(read.ranks, wrote.ranks);
  EXPECT_EQ(read.samples, wrote.samples);
  EXPECT_EQ(read.on_processor, wrote.on_processor);
  ASSERT_EQ(read.spans.size(), wrote.spans.size());
  for (std::size_t i = 0; i < read.spans.size(); ++i) {
    Span a = read.spans[i], b = wrote.spans[i];
    EXPECT_NEAR(a.begin, b.begin, 1e-9);
    EXPECT_NEAR(a.end, b.end, 1e-9);
    EXPECT_NEAR(a.ready, b.ready, 1e-9);
    a.begin = b.begin, a.end = b.end, a.ready = b.ready;
    EXPECT_EQ(a, b) << i;
  }
}

TEST(Timeline, is_read_with_what_was_rehearsed_and_which_part_of_a_pipeline_it_was) {
  Timeline wrote{
      "parts", 1, {{.kind = SpanKind::bucket, .name = "a", .bucket = 1}, {.kind = SpanKind::backward}}};
  wrote.spans[0].rehearsed = {Collective::recv, true, "pipe3-\"1\"-0", true};
  wrote.spans[1].part = {.chunk = 2, .micro_batch = 0};
  const auto text = timeline_json(wrote);
  EXPECT_EQ(parse_timeline(text, "t"), wrote);
  EXPECT_TRUE(is_rehearsal(wrote));
  const auto wrong = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    return message_of(changed.replace(changed.find(from), from.size(), to));
  };
  EXPECT_THAT(wrong("\"recv\"", "\"dance\""), HasSubstr("dance"));
  EXPECT_THAT(wrong("\"user_memory\":true", "\"user_memory\":1"), HasSubstr("should be true or false"));
  EXPECT_THAT(wrong("{\"call\"", "7,\"b\":{\"call\""), HasSubstr("'call' is missing"));
  EXPECT_THAT(wrong("\"chunk\":2,", ""), HasSubstr("'chunk' is missing"));
}

TEST(Timeline, names_a_process_for_each_rank_and_two_threads_in_each) {
  const auto text = timeline_json({"empty", 2, {}});
  EXPECT_THAT(text,
              HasSubstr(R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"rank 1"}})"));
  EXPECT_THAT(text, HasSubstr(R"("thread_name","pid":1,"tid":2,"args":{"name":"communication"})"));
  EXPECT_EQ(parse_timeline(text, "t"), (Timeline{"empty", 2, {}}));
}

TEST(Timeline, goes_to_a_file_and_back) {
  const TempDir directory;
  write_timeline(directory.path() / "t.json", sample());
  EXPECT_EQ(read_timeline(directory.path() / "t.json").spans.size(), 3u);
  EXPECT_THROW(read_timeline(directory.path() / "none.json"), ConfigError);
}

TEST(Timeline, cut_anywhere_is_an_error_and_never_a_crash) {
  const auto text = timeline_json(sample());
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_THAT(message_of(text.substr(0, length)), HasSubstr("t.json: not whole JSON")) << length;
}

TEST(Timeline, that_breaks_off_says_after_how_many_bytes_and_never_more_than_there_are) {
  EXPECT_THAT(message_of("{\"a\":"), HasSubstr("it breaks off after 5 bytes"));
  EXPECT_THAT(message_of("{\"a\" 1}"), HasSubstr("it errs at byte 6 of 7"));
}

TEST(Timeline, of_another_program_is_refused_by_name) {
  EXPECT_THAT(message_of(R"({"traceEvents":[]})"), HasSubstr("not a timeline that gradwire wrote"));
  EXPECT_THAT(message_of("[]"), HasSubstr("not a timeline that gradwire wrote"));
  EXPECT_THAT(message_of("17"), HasSubstr("not a timeline that gradwire wrote"));
  EXPECT_THAT(message_of(with("gradwire_timeline\":1", "gradwire_timeline\":9")), HasSubstr("version 9"));
}

TEST(Timeline, says_which_event_is_wrong_and_what_would_be_right) {
  EXPECT_THAT(message_of(with("\"pid\":1,\"tid\":2,\"ts\"", "\"pid\":7,\"tid\":2,\"ts\"")),
              HasSubstr("span 2 (bucket): rank 7 is not one of 2"));
  EXPECT_THAT(message_of(with("\"ts\":1000.000", "\"ts\":\"soon\"")),
              HasSubstr("event 6: 'ts' should be a number, not string"));
  EXPECT_THAT(message_of(with("\"ts\":1000.000", "\"ts\":1e300")), HasSubstr("beyond 1e+08 s"));
  EXPECT_THAT(message_of(with("\"ts\":1000.000", "\"ts\":1e999")), HasSubstr("a number in it is too large"));
  EXPECT_THAT(message_of(with("\"dur\":2500.000", "\"dur\":-1")), HasSubstr("before its begin"));
  EXPECT_THAT(message_of(with("\"cat\":\"forward\"", "\"cat\":\"sideward\"")),
              HasSubstr("'sideward' is not a kind"));
  EXPECT_THAT(message_of(with("\"step\":0", "\"step\":1.5")), HasSubstr("whole number"));
  EXPECT_THAT(message_of(with("\"bytes\":26214400", "\"bytes\":-4")),
              HasSubstr("'bytes' should be a whole number"));
  EXPECT_THAT(message_of(with("\"bucket\":2,", "")), HasSubstr("'bucket' is missing"));
  EXPECT_THAT(message_of(with("\"ready\":125000.000", "\"ready\":900000")), HasSubstr("before it is ready"));
  EXPECT_THAT(message_of(with("\"ranks\":2", "\"ranks\":0")), HasSubstr("must be 1 or more"));
  EXPECT_THAT(message_of(with("\"ranks\":2", "\"ranks\":4000000000")), HasSubstr("'ranks' should be"));
  EXPECT_THAT(message_of(with("\"ph\":\"X\"", "\"ph\":3")), HasSubstr("'ph' should be a text"));
}

TEST(Timeline, is_not_written_when_it_contradicts_itself) {
  Timeline timeline = sample();
  timeline.spans[0].end = NAN;
  EXPECT_THROW(timeline_json(timeline), ConfigError);
}

}  // namespace
}  // namespace gradwire
