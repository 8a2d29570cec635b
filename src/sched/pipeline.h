// In which order a pipeline stage works: which chunk of the model it takes forward or backward next, and of
// which micro-batch. The schedules people train with; those that run here as pure functions.
//
//   gpipe        all forwards, then all backwards (Huang et al. 2019, arXiv:1811.06965)
//   one_f_one_b  as soon as it can, a backward after each forward, so that a stage keeps at most as many
//                activations as there are stages behind it (Narayanan et al. 2019, PipeDream)
//   interleaved  the same with several chunks a stage, stage p holding chunks p, p + pp, p + 2 pp: a smaller
//                bubble for more messages (Narayanan et al. 2021, arXiv:2104.04473)
//   zb1p, zb2p   backward in two, the weights' gradients where the bubble was (Qi et al. 2023, arXiv:2401.10241):
//                predicted by predict/parallel, run by nobody here
//
// With forward and backward of equal length on all stages the bubble is (pp - 1) / (m + pp - 1) of the time of
// the first two and, with v chunks a stage, (pp - 1) / (v m + pp - 1) of the third.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/names.h"

namespace gradwire {

enum class PipelineSchedule : std::uint8_t { one_f_one_b, interleaved, gpipe, zb1p, zb2p };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<PipelineSchedule> = {"1f1b", "interleaved", "gpipe",
                                                                               "zb1p", "zb2p"};

// One that runs here. Throws ConfigError listing them.
PipelineSchedule parse_pipeline_schedule(std::string_view);

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int stages = 1, micro_batches = 1;
  int virtual_stages = 1;  // chunks a stage holds; more than one with interleaved alone
  int chunks() const { return stages * virtual_stages; }
  int stage_of(int chunk) const { return chunk % stages; }
};

// Throws ConfigError saying what would be right: a schedule that does not run here, counts below one, several
// chunks a stage without interleaved, and interleaved with micro-batches that are no multiple of the stages.
void check_pipeline(const PipelineShape&);

struct StageWork {
  bool forward = true;
  int chunk = 0, micro_batch = 0;
  bool operator==(const StageWork&) const = default;
};

// What the stage computes in a step, in order: each of its chunks with each micro-batch once forward and, later,
// once backward.
std::vector<StageWork> stage_order(const PipelineShape&, int stage);

// The share of the step in which a stage has nothing to do, by the formula above.
double bubble_share(const PipelineShape&);

}  // namespace gradwire
