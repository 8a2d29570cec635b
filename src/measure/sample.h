// What the bench verb and its rank processes say to each other, and what comes out of it. Values with JSON
// forms.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/collective.h"
#include "base/units.h"

namespace gradwire {

// One sample: `calls` calls back to back, timed on every rank. `bytes` is the size nccl-tests prints: what
// one rank holds before a reduction, the whole result of an all_gather.
struct SampleRequest {
  Collective collective = Collective::all_reduce;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  Bytes bytes = 0;
  int calls = 1;
  bool check = false;  // fill with a pattern, call once, compare every element with a sequential result
};

struct SampleResult {
  Seconds per_call = 0;
  Seconds processor = 0;  // time that a rank's threads computed in a call, with what they waited for spinning
  std::uint64_t wrong = 0;
  std::string error;  // what the rank threw, if it did
};

void to_json(nlohmann::json&, const SampleRequest&);
void from_json(const nlohmann::json&, SampleRequest&);
// Of all ranks: the slowest's time, the sum of processor time and of wrong elements. Throws Error with what a
// rank said when it failed.
void add(SampleResult& total, const SampleResult& of_rank);

void to_json(nlohmann::json&, const SampleResult&);
void from_json(const nlohmann::json&, SampleResult&);

// Bytes per second of the result, and of the busiest link: as nccl-tests defines them.
double algorithm_bandwidth(Bytes bytes, Seconds time);
double bus_bandwidth(Collective, int ranks, Bytes bytes, Seconds time);

// The size closest below `bytes` that a collective of n ranks can have.
Bytes fitting_size(Collective, DType, int ranks, Bytes bytes);

}  // namespace gradwire
