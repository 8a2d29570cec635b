// The timeline as Chrome's trace event format: "X" events with times in microseconds, "M" events that name
// processes and threads. "otherData" holds what makes it ours; other viewers show it as the trace's
// information.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "trace/timeline.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1, kComputeLane = 1, kCommunicationLane = 2;
constexpr int kMostRanks = 1'000'000;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string lane_names(Rank rank) {
  const auto line = [&](const char* what, int lane, const std::string& name) {
    return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}},)"
                       "\n",
                       what, rank, lane, name);
  };
  return line("process_name", 0, fmt::format("rank {}", rank)) +
         line("thread_name", kComputeLane, "compute") +
         line("thread_name", kCommunicationLane, "communication");
}

std::string bucket_arguments(const Span& span) {
  auto text =
      fmt::format(R"(,"bucket":{},"bytes":{},"ready":{:.3f})", span.bucket, span.bytes, span.ready * 1e6);
  if (const auto& call = span.rehearsed)
    text += fmt::format(R"(,"rehearsed":{{"call":"{}","group":{},"user_memory":{},"viewed":{}}})",
                        name_of(call->kind), quoted(call->group), call->user_memory, call->viewed);
  return text;
}

std::string part_arguments(const StagePart& part) {
  return fmt::format(R"(,"chunk":{},"micro_batch":{})", part.chunk, part.micro_batch);
}

std::string event_of(const Span& span) {
  const bool bucket = span.kind == SpanKind::bucket;
  const std::string name = span.name.empty() ? std::string(name_of(span.kind)) : span.name;
  return fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
                     R"("args":{{"step":{}{}{}}}}})",
                     quoted(name), name_of(span.kind), span.rank, bucket ? kCommunicationLane : kComputeLane,
                     span.begin * 1e6, (span.end - span.begin) * 1e6, span.step,
                     bucket ? bucket_arguments(span) : "",
                     span.part.is_told() ? part_arguments(span.part) : "");
}

// Reading. The names of fields stand in the errors, so each is fetched by a function that knows its own.

const Json& field(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw ConfigError(fmt::format("'{}' is missing", name));
  return *found;
}

std::string text_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_string())
    throw ConfigError(fmt::format("'{}' should be a text, not {}", name, value.type_name()));
  return value.get<std::string>();
}

double number_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_number())
    throw ConfigError(fmt::format("'{}' should be a number, not {}", name, value.type_name()));
  return value.get<double>();
}

std::int64_t integer_field(const Json& object, const char* name, std::int64_t most) {
  const double value = number_field(object, name);
  if (!(value >= 0 && value <= static_cast<double>(most)) || value != std::floor(value))
    throw ConfigError(fmt::format("'{}' should be a whole number from 0 to {}, not {:g}", name, most, value));
  return static_cast<std::int64_t>(value);
}

bool truth_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_boolean())
    throw ConfigError(fmt::format("'{}' should be true or false, not {}", name, value.type_name()));
  return value.get<bool>();
}

Seconds from_microseconds(double value) { return value / 1e6; }

void read_bucket(const Json& arguments, Span& span) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;
  span.bucket = static_cast<int>(integer_field(arguments, "bucket", INT32_MAX));
  span.bytes = static_cast<Bytes>(integer_field(arguments, "bytes", kMostBytes));
  span.ready = from_microseconds(number_field(arguments, "ready"));
  // Rounded to nanoseconds each, they may have changed places.
  if (span.ready > span.begin && span.ready < span.begin + 2e-9) span.ready = span.begin;
  if (!arguments.contains("rehearsed")) return;
  const Json& call = arguments["rehearsed"];
  span.rehearsed = {.kind = parse_collective(text_field(call, "call")),
                    .user_memory = truth_field(call, "user_memory"),
                    .group = text_field(call, "group"),
                    .viewed = truth_field(call, "viewed")};
}

StagePart read_part(const Json& arguments) {
  if (!arguments.contains("micro_batch")) return {};
  return {.chunk = static_cast<int>(integer_field(arguments, "chunk", INT32_MAX)),
          .micro_batch = static_cast<int>(integer_field(arguments, "micro_batch", INT32_MAX))};
}

Span read_span(const Json& event) {
  Span span;
  const Json& arguments = field(event, "args");
  if (!arguments.is_object()) throw ConfigError("'args' should be an object");
  span.kind = parse_span_kind(text_field(event, "cat"));
  span.name = text_field(event, "name");
  if (span.name == name_of(span.kind)) span.name.clear();
  span.rank = static_cast<Rank>(integer_field(event, "pid", kMostRanks));
  span.step = static_cast<int>(integer_field(arguments, "step", INT32_MAX));
  const double ts = number_field(event, "ts"), dur = number_field(event, "dur");
  span.begin = from_microseconds(ts);
  span.end = from_microseconds(ts + dur);
  if (span.kind == SpanKind::bucket) read_bucket(arguments, span);
  span.part = read_part(arguments);
  return span;
}

void read_head(const Json& document, Timeline& timeline) {
  const bool ours = document.is_object() && document.contains("otherData") &&
                    document["otherData"].is_object() && document["otherData"].contains("gradwire_timeline");
  if (!ours)
    throw ConfigError("this is not a timeline that gradwire wrote: 'otherData' has no 'gradwire_timeline'");
  const Json& head = document["otherData"];
  const auto version = integer_field(head, "gradwire_timeline", INT32_MAX);
  if (version != kVersion)
    throw ConfigError(
        fmt::format("timeline version {} is not the version {} this program reads", version, kVersion));
  timeline.source = text_field(head, "source");
  timeline.ranks = static_cast<int>(integer_field(head, "ranks", kMostRanks));
  if (head.contains("samples"))
    timeline.samples = static_cast<int>(integer_field(head, "samples", INT32_MAX));
  if (head.contains("on_processor")) timeline.on_processor = truth_field(head, "on_processor");
}

// Takes events as they are parsed and forgets them: a tree of all would take ten times the memory of the text. What is wrong
// with the first is said when it is known to be an event of ours.
class EventReader {
 public:
  // Called by the parser; false: the value is not kept.
  bool take(int depth, Json::parse_event_t event, const Json& value) {
    if (depth == 1 && event == Json::parse_event_t::key) in_events_ = value == "traceEvents";
    const bool whole = event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end ||
                       event == Json::parse_event_t::value;
    if (!in_events_ || depth != 2 || !whole) return true;
    if (wrong_.empty()) read(value);
    ++count_;
    return false;
  }

  Timeline finish(const Json& document) {
    read_head(document, timeline_);
    if (!field(document, "traceEvents").is_array()) throw ConfigError("'traceEvents' should be an array");
    if (!wrong_.empty()) throw ConfigError(wrong_);
    check_timeline(timeline_);
    return std::move(timeline_);
  }

 private:
  void read(const Json& event) {
    try {
      if (!event.is_object()) throw ConfigError("it should be an object");
      if (text_field(event, "ph") == "X") timeline_.spans.push_back(read_span(event));
    } catch (const ConfigError& error) {
      wrong_ = fmt::format("event {}: {}", count_, error.what());
    }
  }

  Timeline timeline_;
  bool in_events_ = false;
  std::size_t count_ = 0;
  std::string wrong_;
};

}  // namespace

std::string timeline_json(const Timeline& timeline) {
  check_timeline(timeline);
  std::string text =
      fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"gradwire_timeline":{},"source":{},)"
                  R"("ranks":{},"samples":{},"on_processor":{}}},"traceEvents":[)"
                  "\n",
                  kVersion, quoted(timeline.source), timeline.ranks, timeline.samples, timeline.on_processor);
  for (Rank rank = 0; rank < timeline.ranks; ++rank) text += lane_names(rank);
  for (const Span& span : timeline.spans) text += event_of(span) + ",\n";
  text.erase(text.rfind(','));  // there is a rank, so there is one
  return text + "\n]}\n";
}

void write_timeline(const std::filesystem::path& path, const Timeline& timeline) {
  write_file(path, timeline_json(timeline));
}

Timeline parse_timeline(std::string_view json, const std::string& name) {
  try {
    EventReader events;
    const auto document = Json::parse(json, [&](int depth, Json::parse_event_t event, const Json& value) {
      return events.take(depth, event, value);
    });
    return events.finish(document);
  } catch (const Json::parse_error& error) {
    const bool cut = error.byte > json.size();
    throw ConfigError(fmt::format("{}: not whole JSON: it {}; write it again with --trace", name,
                                  cut ? fmt::format("breaks off after {} bytes", json.size())
                                      : fmt::format("errs at byte {} of {}", error.byte, json.size())));
  } catch (const Json::out_of_range&) {
    throw ConfigError(fmt::format("{}: a number in it is too large", name));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", name, error.what()));
  }
}

Timeline read_timeline(const std::filesystem::path& path) {
  return parse_timeline(read_file(path, kLargestTrace), path.string());
}

}  // namespace gradwire
