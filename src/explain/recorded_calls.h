// What NCCL ran, by its own profiler interface: calls of all ranks whose records are there, matched by NCCL's own count of
// them. A record's time is from a rank's arrival to the result, as a kernel's in a trace is (collectives.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "explain/collectives.h"
#include "import/nccl_records.h"
#include "topo/machine.h"

namespace gradwire {

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
