// The collectives of a run, over all ranks whose traces are there: how long each took, how much of that was
// waiting for the last rank and how much transfer, and how fast the transfer was. Pure functions.
//
// A collective's kernel runs on every rank from when that rank arrives until all have the result, so it ends
// on all at once: the rank that arrived last has the shortest kernel, that is the transfer, and what others
// have more is waiting. Calls of ranks are matched by step and by their order in their group, which needs no
// common clock; where ranks disagree on how many there were they are not matched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/rank_steps.h"
#include "import/nccl_records.h"
#include "topo/machine.h"

namespace gradwire {

struct CollectiveSpan {
  SaidCollective collective;
  std::string group;
  Bytes bytes = 0;
  int ranks = 0;  // of its group; 0: not said
  std::optional<RankRange> members;
  int step = 0;                // -1: before the first
  bool counts = true;          // it is in a step that means are of
  bool in_forward = false;     // it was launched before backward: what it carries are no gradients
  bool whole_numbers = false;  // what it carries is no gradient and no statistic either
  std::int64_t sequence = -1;
  Nanoseconds begin = 0, end = 0;
  Nanoseconds exposed = 0;              // of it, what no computing hides
  std::optional<Nanoseconds> transfer;  // of the rank that came last; absent: not matched
  Nanoseconds caused = 0;               // on the rank that came last: what all others waited for it
  Nanoseconds duration() const { return end - begin; }
  Nanoseconds wait() const { return transfer ? duration() - *transfer : 0; }
};

// On a GPU the kernels that communicate, without one the spans of a backend.
bool is_collective(const Profile&, const RankSteps&, const Activity&);
std::vector<CollectiveSpan> collective_spans(const Profile&, const RankSteps&);

// Fills in transfer where at least two ranks have the call. One vector a rank.
void match_collectives(std::vector<std::vector<CollectiveSpan>>& ranks);

struct CollectiveRow {
  SaidCollective collective;
  std::string group;
  Bytes bytes = 0;
  int ranks = 0;
  std::optional<RankRange> members;  // of the group, where the trace says it
  int count = 0;                     // on the rank that has most
  double each_step = 0;              // of these, in a step that counts
  double forward_share = 0;          // of them, launched before backward
  bool whole_numbers = false;
  Seconds time = 0;      // median over calls and ranks, waiting included
  Seconds transfer = 0;  // median of the shortest over ranks; equals time where no ranks could be matched
  Seconds wait = 0;      // mean over calls and ranks
  Seconds exposed = 0;   // mean over ranks, of all calls of a step
  bool matched = false;  // transfer and wait are known apart
  double algbw_gbps = 0, busbw_gbps = 0;  // of the transfer; 0: bytes are not known
  std::optional<double> expected_busbw_gbps;
};

// By what takes most time first. `steps` of a rank are what `exposed` is divided by.
std::vector<CollectiveRow> collective_rows(const std::vector<std::vector<CollectiveSpan>>& ranks,
                                           double steps);

struct ExpectedRate {
  double busbw_gbps = 0;
  double relative_error = 0;  // of the model, for such machines and sizes
  Seconds time = 0;
};

// What a machine should give a collective, by the model of NCCL. Nothing where the model has no such collective, or
// the machine has no such GPUs.
std::optional<ExpectedRate> find_expected_rate(const Machine&, std::optional<Collective>, Bytes, int ranks);

// What NCCL ran, by its own profiler interface: calls of all ranks whose records are there, matched by NCCL's own count of
// them. A record's time is from a rank's arrival to the result, as a kernel's in a trace is.
struct RecordedRow {
  CollectiveRow row;
  bool timed = false;  // false: this version of NCCL says when a call was enqueued, not how long it took
  std::string way;     // what NCCL chose for most of them: "RING SIMPLE 8"; empty: it does not say
};

struct RecordedCalls {
  std::vector<RecordedRow> rows;  // by what takes most time first
  int ranks = 0;                  // whose records are there
  std::vector<std::string> notes;
};

// `machine` gives the rates to expect, if anybody said which it is.
RecordedCalls recorded_calls(const std::vector<NcclCalls>&, const Machine* machine = nullptr);

}  // namespace gradwire
