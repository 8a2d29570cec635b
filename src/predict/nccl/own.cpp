#include "predict/nccl/own.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "predict/calibration/fit.h"
#include "predict/nccl/all_reduce.h"
#include "sim/sweep.h"

namespace gradwire {
namespace {

// A ring of two moves half of what copies both ways do. Copies that the driver stages wait for one another:
// NCCL got 1.27 and 1.38 of that half (4 RTX 5090, 8 RTX 4090), and 0.95 of a bridge's.
constexpr double kStagedByDriver = 1.33, kOfNvlink = 0.95;
constexpr double kCopyWeight = 0.25;  // such a figure is good to 20 %, a row of NCCL's own to 10
constexpr double kCopiesOpen = 0.15;  // copies are not all-reduces, nor is part of the GPUs all of them
constexpr Bytes kUsual = Bytes{64} << 20, kLargeCopy = Bytes{1} << 30;

// Some GPUs of the first nodes, the same ones of each.
Machine only(Machine machine, const std::vector<int>& gpus, int nodes) {
  const int each = machine.gpus_per_node();
  std::vector<DeviceId> chosen;
  for (int node = 0; node < nodes; ++node)
    for (const int gpu : gpus) {
      if (gpu < 0 || gpu >= each)
        throw ConfigError(fmt::format("GPU {} was measured, {} has {}", gpu, machine.name, each));
      chosen.push_back(machine.gpus[static_cast<std::size_t>(node * each + gpu)]);
    }
  machine.gpus = chosen;
  machine.nodes = nodes;
  machine.node.gpus = static_cast<int>(gpus.size());
  return machine;
}

int nodes_of(const OwnSweep& sweep, const Machine& machine) {
  const int each = machine.gpus_per_node();
  if (machine.nodes == 1) return 1;  // several host names are then containers of one machine
  if (sweep.nodes > 0) return sweep.nodes;
  if (sweep.ranks <= each) return 1;
  return sweep.ranks % each == 0 ? sweep.ranks / each : machine.nodes;
}

Machine measured_part(const OwnSweep& sweep, const Machine& machine) {
  const int nodes = nodes_of(sweep, machine), each = sweep.ranks / nodes;
  if (sweep.ranks < 2 || each * nodes != sweep.ranks || nodes > machine.nodes ||
      each > machine.gpus_per_node())
    throw ConfigError(fmt::format("{} GPUs{} were measured, {} has {}{}", sweep.ranks,
                                  nodes > 1 ? fmt::format(" of {} nodes", nodes) : "", machine.name,
                                  machine.gpus.size(),
                                  machine.nodes > 1 ? fmt::format(" of {} nodes", machine.nodes) : ""));
  std::vector<int> first(static_cast<std::size_t>(each));
  std::iota(first.begin(), first.end(), 0);
  return only(machine, first, nodes);
}

// Hosts differ by a few times. What is off by more was measured elsewhere, or in another unit.
void check_plausible(const NcclPredictor& usual, const OwnSweep& sweep, const std::string& machine) {
  constexpr Bytes kRates = 1'000'000;
  constexpr double kMostFaster = 20, kMostSlower = 1000;
  for (const auto& [bytes, time] : sweep.rows) {
    const double faster = usual.time(bytes) / time;
    if (bytes < kRates || (faster < kMostFaster && faster > 1 / kMostSlower)) continue;
    throw ConfigError(
        fmt::format("an all-reduce of {} bytes in {:.3g} us is {:.3g} times as fast as links of {} are: see "
                    "whether it was measured there, and in which unit",
                    bytes, time * 1e6, faster, machine));
  }
}

// Owns what its sweeps borrow.
class OwnFit {
 public:
  OwnFit(const Machine& machine, const NcclSettings& settings) : machine_(machine), settings_(settings) {}

  void add(const OwnSweep& sweep) {
    const NcclFabric& fabric = keep(nccl_fabric(measured_part(sweep, machine_), settings_));
    check_plausible(NcclPredictor(fabric, default_calibration()), sweep, machine_.name);
    FitSweep fitted{&fabric, {}, 1};
    for (const auto& [bytes, time] : sweep.rows)
      fitted.rows.push_back({nccl_choice(fabric, bytes), bytes, time});
    sweeps_.push_back(std::move(fitted));
    whole_ |= sweep.ranks == static_cast<int>(machine_.gpus.size());
  }

  void add(const OwnCopies& copies) {
    NcclSettings settings = settings_;
    settings.p2p_disabled |= copies.staged;
    const NcclFabric& fabric = keep(nccl_fabric(only(machine_, {copies.gpu, copies.peer}, 1), settings));
    const double share = fabric.over_nvlink()              ? kOfNvlink
                         : fabric.link() == NcclLink::host ? kStagedByDriver
                                                           : 1;
    const double gbps = share * copies.gbps / 2;
    sweeps_.push_back(
        {&fabric, {{NcclChoice{}, kLargeCopy, static_cast<double>(kLargeCopy) / (gbps * 1e9)}}, kCopyWeight});
  }

  OwnConstants fitted() const {
    const Calibration own = fit_own(default_calibration(), sweeps_);
    return {{own.values.begin(), own.values.end()},
            own.own.together,
            whole_ ? own.own.scatter : std::max(own.own.scatter, kCopiesOpen)};
  }

 private:
  const NcclFabric& keep(NcclFabric fabric) {
    return *fabrics_.emplace_back(std::make_unique<NcclFabric>(std::move(fabric)));
  }

  const Machine& machine_;
  const NcclSettings& settings_;
  std::vector<std::unique_ptr<NcclFabric>> fabrics_;
  std::vector<FitSweep> sweeps_;
  bool whole_ = false;
};

bool tells_a_rate(const OwnMeasurements& all) {
  constexpr Bytes kRates = 1'000'000;
  const auto is_large = [](const auto& row) { return row.first >= kRates; };
  return !all.copies.empty() || std::ranges::any_of(all.sweeps, [&](const OwnSweep& sweep) {
    return std::ranges::any_of(sweep.rows, is_large);
  });
}

std::vector<std::string> remarks_for(const std::vector<OwnSweep>& sweeps, const Machine& machine) {
  std::vector<std::string> remarks;
  const auto add = [&](std::string remark) {
    if (std::ranges::find(remarks, remark) == remarks.end()) remarks.push_back(std::move(remark));
  };
  const int all = static_cast<int>(machine.gpus.size());
  const auto is_whole = [&](const OwnSweep& sweep) { return sweep.ranks == all; };
  const bool whole = std::ranges::any_of(sweeps, is_whole);
  for (const OwnSweep& sweep : sweeps) {
    if (!whole)
      add(fmt::format("{} of its {} GPUs were measured: what all do together is reckoned", sweep.ranks, all));
    const auto gpu = find_gpu_by_name(sweep.gpu);
    if (gpu && !machine.gpu.id.empty() && gpu->id != machine.gpu.id)
      add(fmt::format("it was measured on {}, not on {}", sweep.gpu, machine.gpu.name));
  }
  return remarks;
}

double expected_error(const Machine& machine, const NcclSettings& settings) {
  return NcclModel(machine, default_calibration(), settings).all_reduce(kUsual).relative_error;
}

}  // namespace

std::vector<OwnSweep> own_sweeps(std::string_view bench, const std::string& file) try {
  std::vector<OwnSweep> all;
  for (const Sweep& sweep : read_sweeps(bench)) {
    if (sweep.collective != Collective::all_reduce || sweep.backend != to_string(Backend::nccl)) continue;
    OwnSweep& own = all.emplace_back(OwnSweep{sweep.ranks, {}});
    for (const Sample& sample : sweep.samples) own.rows.emplace_back(sample.bytes, sample.time);
  }
  if (all.empty()) throw ConfigError("it has no all_reduce of nccl, which is what is modelled");
  return all;
} catch (const ConfigError& error) {
  throw ConfigError(fmt::format("{}: {}", file, error.what()));
}

void take_measured(Machine& machine, const OwnMeasurements& all, const NcclSettings& settings) try {
  if (machine.gpus.size() < 2)
    throw ConfigError(fmt::format("{}: nothing to measure between GPUs", machine.name));
  const double before = expected_error(machine, settings);
  OwnFit measured(machine, settings);
  for (const OwnSweep& sweep : all.sweeps) measured.add(sweep);
  for (const OwnCopies& copies : all.copies) measured.add(copies);
  machine.node.own = measured.fitted();
  machine.measured = MeasuredThere{all.files, before, expected_error(machine, settings), tells_a_rate(all),
                                   remarks_for(all.sweeps, machine)};
} catch (const ConfigError& error) {
  if (all.files.empty()) throw;
  throw ConfigError(fmt::format("{}: {}", join(all.files, ", "), error.what()));
}

Calibration own_calibration(const Machine& machine, const Calibration& of_all) {
  const OwnConstants& own = machine.node.own;
  if (own.values.size() != kNcclConstants) return of_all;
  Calibration calibration = of_all;
  std::copy(own.values.begin(), own.values.end(), calibration.values.begin());
  calibration.own = {own.together, own.scatter};
  return calibration;
}

}  // namespace gradwire
