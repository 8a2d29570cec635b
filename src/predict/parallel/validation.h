// Published runs of parallel training against their predictions. Whatever shares a source with a run (its group or its
// platform) is left out of the fit of the constants that it is judged with.
//
// Four questions: the step alone; the step where one other configuration of that model and GPU is given; the ratio of
// two runs that differ in one thing; which of several layouts is the fastest. Beside each stands what needs no physics:
// a constant share of the peak, and "it makes no difference".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "predict/parallel/cases.h"
#include "predict/parallel/fit.h"

namespace gradwire {

// The step of a run where this other one is given: as predicted, and at that one's share of the peak.
struct GivenOther {
  const ParallelCase* other = nullptr;
  Seconds step = 0, floor = 0;
};

struct ParallelPoint {
  const ParallelCase* run = nullptr;
  Seconds alone = 0, alone_floor = 0;         // predicted; at the usual share of the peak
  std::optional<Seconds> given, given_floor;  // with the nearest other configuration of that model and GPU
  std::vector<GivenOther> others;             // with each that could be given. All of a run count as one run
  std::string nearest;                        // its id
  double low = 0, high = 0;                   // eight of ten runs should lie between; of the best prediction
  Seconds best() const { return given.value_or(alone); }
};

// What two runs of one model on one GPU may differ in.
enum class Differs : std::uint8_t { gpus, precision, recomputation, schedule, link, sequence, batch, layout };
template <>
inline constexpr std::array<std::string_view, 8> kNamesOf<Differs> = {
    "gpus", "precision", "recomputation", "schedule", "link", "sequence", "batch", "layout"};

// What is chosen before a machine is bought or a run begins, and what `plan` and `compare` are asked about.
constexpr bool is_choice_of_plan(Differs what) {
  return what == Differs::layout || what == Differs::gpus || what == Differs::link;
}

// Of what a GPU gets done, the first run over the second. By their rates where a step is not stated.
struct ParallelRatio {
  const ParallelCase *first = nullptr, *second = nullptr;
  Differs what = Differs::gpus;  // in that alone
  double measured = 1, predicted = 1;
};

struct PlanSet {
  std::vector<const ParallelCase*> plans;
  int pairs = 0, named = 0;  // over 10 % apart, and with the faster one named
  double chosen = 0;         // how much slower than the best measured the layout is that comes out best
  double any = 0;            // and one picked blindly
};

struct ParallelValidation {
  ParallelCases asked;
  std::vector<ParallelPoint> points;
  std::vector<ParallelRatio> ratios;
  std::vector<PlanSet> sets;
};

// `records` are judged; `known` is what constants may be learnt from.
ParallelValidation validate_parallel(std::span<const Record> records, std::span<const Record> known);

std::vector<Record> built_in_parallel_records();  // presets/measured/parallel.jsonl

}  // namespace gradwire
