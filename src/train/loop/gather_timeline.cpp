#include "train/loop/gather_timeline.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "comm/objects.h"

namespace gradwire {
namespace {

// A span as it travels between ranks of one program: its fields as they are, then its name and the group of its call.
struct PackedSpan {
  Rank rank;
  int step;
  SpanKind kind;
  int bucket;
  Seconds begin, end, ready;
  Bytes bytes;
  StagePart part;
  bool rehearsed, user_memory, viewed;
  Collective call;
  std::size_t name, group;  // how long they are
};

PackedSpan fields_of(const Span& span, const RehearsedCall& call) {
  return {span.rank,        span.step,   span.kind,  span.bucket,      span.begin,
          span.end,         span.ready,  span.bytes, span.part,        span.rehearsed.has_value(),
          call.user_memory, call.viewed, call.kind,  span.name.size(), call.group.size()};
}

std::string pack(const std::vector<Span>& spans) {
  std::string bytes;
  for (const Span& span : spans) {
    const RehearsedCall call = span.rehearsed.value_or(RehearsedCall{});
    const PackedSpan fields = fields_of(span, call);
    bytes.append(reinterpret_cast<const char*>(&fields), sizeof fields);
    bytes += span.name + call.group;
  }
  return bytes;
}

void unpack(std::string_view bytes, std::vector<Span>& spans) {
  while (!bytes.empty()) {
    PackedSpan fields;
    check(bytes.size() >= sizeof fields, "a rank's spans end within one");
    std::memcpy(&fields, bytes.data(), sizeof fields);
    bytes.remove_prefix(sizeof fields);
    check(bytes.size() >= fields.name + fields.group, "a rank's spans end within a name");
    spans.push_back({.rank = fields.rank,
                     .step = fields.step,
                     .kind = fields.kind,
                     .name = std::string(bytes.substr(0, fields.name)),
                     .begin = fields.begin,
                     .end = fields.end,
                     .bucket = fields.bucket,
                     .bytes = fields.bytes,
                     .ready = fields.ready,
                     .part = fields.part});
    bytes.remove_prefix(fields.name);
    if (fields.rehearsed)
      spans.back().rehearsed = {fields.call, fields.user_memory, std::string(bytes.substr(0, fields.group)),
                                fields.viewed};
    bytes.remove_prefix(fields.group);
  }
}

void begin_at_zero(Timeline& timeline) {
  Seconds first = INFINITY;
  for (const Span& span : timeline.spans) {
    first = std::min(first, span.begin);
    if (span.kind == SpanKind::bucket) first = std::min(first, span.ready);
  }
  for (Span& span : timeline.spans) {
    span.begin -= first;
    span.end -= first;
    if (span.kind == SpanKind::bucket) span.ready -= first;
  }
}

}  // namespace

Timeline gather_timeline(Communicator& communicator, const Recorder& recorder, const ClockOffset& clock,
                         const std::string& source) {
  Timeline whole{source, communicator.size(), {}};
  for (const auto& part :
       all_gather_objects(communicator, pack(recorder.spans(communicator.rank(), clock.offset))))
    unpack(part, whole.spans);
  check_timeline(whole);
  begin_at_zero(whole);
  return whole;
}

}  // namespace gradwire
