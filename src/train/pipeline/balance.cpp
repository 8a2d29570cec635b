// Dynamic programming over (stages, layers): the best way to cut the first `layers` into `stages` is the best way to
// cut some fewer into one stage less, and the rest. Layers squared times stages, which is nothing beside a step.
#include "train/pipeline/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace gradwire {
namespace {

struct BestCut {
  double slowest = std::numeric_limits<double>::infinity(), squares = 0;
  int last_begins = 0;
  // Sums of the same costs in another order differ by roundings, which must not decide.
  bool better_than(const BestCut& other) const {
    constexpr double kRounding = 1e-12;
    if (slowest < other.slowest * (1 - kRounding)) return true;
    return slowest <= other.slowest * (1 + kRounding) && squares < other.squares * (1 - kRounding);
  }
};

double range_cost(std::span<const double> costs, int begin, int end) {
  double sum = 0;
  for (int i = begin; i < end; ++i) sum += costs[static_cast<std::size_t>(i)];
  return sum;
}

using CutTable = std::vector<std::vector<BestCut>>;  // [stages][layers]

BestCut best_end(const CutTable& table, std::span<const double> costs, int stage, int layers) {
  BestCut best;
  double sum = 0;
  for (int begin = layers - 1; begin >= stage - 1; --begin) {  // a layer at least for each stage before
    sum += costs[static_cast<std::size_t>(begin)];
    const BestCut& before = table[static_cast<std::size_t>(stage - 1)][static_cast<std::size_t>(begin)];
    const BestCut made{std::max(before.slowest, sum), before.squares + sum * sum, begin};
    if (made.better_than(best)) best = made;
  }
  return best;
}

}  // namespace

std::vector<int> balanced_cut(std::span<const double> costs, int stages) {
  const int layers = static_cast<int>(costs.size());
  if (stages < 1 || stages > layers)
    throw ConfigError(
        fmt::format("{} layers can't be cut into {} stages: each needs a layer", layers, stages));
  CutTable table(static_cast<std::size_t>(stages) + 1, std::vector<BestCut>(costs.size() + 1));
  table[0][0].slowest = 0;
  for (int stage = 1; stage <= stages; ++stage)
    for (int end = stage; end <= layers; ++end)
      table[static_cast<std::size_t>(stage)][static_cast<std::size_t>(end)] =
          best_end(table, costs, stage, end);
  std::vector<int> cut(static_cast<std::size_t>(stages) + 1, layers);
  for (int stage = stages; stage > 0; --stage) {
    const auto s = static_cast<std::size_t>(stage);
    cut[s - 1] = table[s][static_cast<std::size_t>(cut[s])].last_begins;
  }
  return cut;
}

double slowest_stage(std::span<const double> costs, std::span<const int> cut) {
  double slowest = 0;
  for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage)
    slowest = std::max(slowest, range_cost(costs, cut[stage], cut[stage + 1]));
  return slowest;
}

}  // namespace gradwire
