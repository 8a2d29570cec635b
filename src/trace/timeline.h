// Training steps as they passed on every rank, or as a model of a machine says they would: the one form that
// `train` records, the predictor simulates, and breakdown.h, reports and Perfetto read. Values.
//
// A rank has two lanes: on the compute lane data, forward, backward, wait, optimizer and other follow one
// another (a wait may also lie inside a backward); on the communication lane each bucket's collective has a
// span. Times are seconds on one clock for all ranks, 0 at the timeline's begin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/units.h"

namespace gradwire {

enum class SpanKind : std::uint8_t {
  data,       // the next batch is made or fetched
  forward,    // model and loss
  backward,   // gradients
  bucket,     // a bucket's collective is on its way; the only kind on the communication lane
  wait,       // the compute lane waits for communication: what is exposed
  optimizer,  // parameters are updated, gradients cleared
  other       // anything else that has a name: a checkpoint, an evaluation
};

std::string_view name_of(SpanKind);               // "backward"
SpanKind parse_span_kind(std::string_view text);  // throws ConfigError listing the kinds
inline bool is_compute(SpanKind kind) { return kind != SpanKind::bucket && kind != SpanKind::wait; }

// Which part of a pipeline's step a span is of: a forward or backward computed it, a wait was for its message. -1: no
// pipeline's.
struct StagePart {
  int chunk = -1, micro_batch = -1;
  bool is_told() const { return micro_batch >= 0; }
  bool operator==(const StagePart&) const = default;
};

// A call that was rehearsed: ranks do what a parallel run of theirs would compute, each alone, and take down where it would
// have communicated (train/rehearsal.h).
struct RehearsedCall {
  Collective kind = Collective::all_reduce;
  bool user_memory = false;  // not the communicator's own: `gradwire bench` calls it NAME:user
  std::string group = {};    // the same on all ranks that take part
  bool viewed = false;       // ranks that share memory see what it would bring, and only have to meet
  bool operator==(const RehearsedCall&) const = default;
};

std::string name_of(const RehearsedCall&);  // for people: "rehearsed all_reduce:user among tp-0-1"

struct Span {
  Rank rank = 0;
  int step = 0;  // from 0; micro-batches of one optimizer step share its number
  SpanKind kind = SpanKind::other;
  std::string name = {};  // for people alone: "bucket 3", "checkpoint"; the kind's name when empty
  Seconds begin = 0, end = 0;

  // Of a bucket alone: its number in the order buckets leave, what it holds, and when its last gradient was
  // there (ready <= begin: the collective may have to queue behind others).
  int bucket = -1;
  Bytes bytes = 0;
  Seconds ready = 0;
  // That call was asked for at `ready`, needed from `begin` on and answered by nobody until `end`; its number counts those of
  // its group.
  std::optional<RehearsedCall> rehearsed = {};

  StagePart part = {};

  bool operator==(const Span&) const = default;
};

struct Timeline {
  std::string source;  // where it comes from: "gradwire train gpt-tiny, shm", "model: dgx-a100"
  int ranks = 1;
  std::vector<Span> spans;    // in any order
  int samples = 0;            // that one rank learns from in a step; 0: not known
  bool on_processor = false;  // that is what computed, and no GPU
  bool operator==(const Timeline&) const = default;
};

// Throws ConfigError naming the span when one contradicts what is said above: a rank that is none of `ranks`,
// an end before its begin, a time that is no number, a bucket without a number, a negative step.
void check_timeline(const Timeline&);

bool is_rehearsal(const Timeline&);

// As Chrome's tracing and Perfetto read it: a process for each rank, threads "compute" and "communication",
// microseconds with three decimals. What is written is read again with times rounded to nanoseconds.
std::string timeline_json(const Timeline&);
void write_timeline(const std::filesystem::path&, const Timeline&);

// Reads what the above wrote. Anything else (cut in half, another tool's trace, numbers that can't be) is a
// ConfigError with `name` in front, the place, and what would be right.
Timeline parse_timeline(std::string_view json, const std::string& name);
Timeline read_timeline(const std::filesystem::path&);

}  // namespace gradwire
