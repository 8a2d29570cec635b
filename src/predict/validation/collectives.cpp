#include "predict/validation/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/error.h"
#include "predict/nccl/predictor.h"
#include "predict/nccl/version.h"
#include "predict/presets.h"
#include "predict/records/read.h"

namespace gradwire {
namespace {

constexpr double kWeakWeight = 0.05;  // of a record something is missing from

// What a tool adds to NCCL's own time. torch.distributed measured from Python: stas-b200-1node is 15 to 25 us
// above aic-b200_sxm-8gpu at equal sizes, whatever the size.
Seconds tool_overhead(BenchTool tool) { return tool == BenchTool::torch_distributed ? 22e-6 : 0; }

bool usable(const Record& record) { return record.quality != Quality::odd; }

// Bytes over the nominal rate of NVLink, PCIe or the network, plus NCCL's own latency of a small buffer.
Seconds alpha_beta_time(const PreparedRecord& one, Bytes bytes) {
  const NcclFabric& fabric = one.fabric;
  const double n = fabric.ranks, hops = fabric.nodes > 1 ? fabric.nodes : fabric.ranks;
  double rate = fabric.rings.nominal_gbps > 0 ? fabric.rings.nominal_gbps : HUGE_VAL;
  if (fabric.nodes > 1) rate = std::min(rate, fabric.network_nominal_gbps);
  return (6.6 + 2 * (hops - 1)) * 1e-6 + 2 * (n - 1) / n * static_cast<double>(bytes) / (rate * 1e9);
}

std::string kind_of(const PreparedRecord& one) {
  if (one.record.node.intra == Intra::nvlink_pairs) return "pair";
  const bool box = one.fabric.nodes == 1 && !one.fabric.nvls && !one.fabric.over_nvlink();
  return box ? "pcie box" : std::string(name_of(one.machines));
}

std::string left_out(const PreparedRecord& one, LeaveOut by) {
  switch (by) {
    case LeaveOut::platform:
      return one.record.platform;
    case LeaveOut::group:
      return one.record.group;
    case LeaveOut::kind:
      return one.kind;
    case LeaveOut::generation:
      break;
  }
  return fmt::format("sm{}", one.fabric.sm >= 100 ? 100 : one.fabric.sm);
}

// A group with many sweeps counts for more than one with a single sweep, but not in proportion: they share a
// machine.
std::map<std::string, double> group_weights(std::span<const PreparedRecord> all) {
  std::map<std::string, double> sweeps;
  for (const PreparedRecord& one : all) sweeps[one.record.group] += 1;
  for (auto& [group, count] : sweeps) count = 1 / std::sqrt(count);
  return sweeps;
}

PreparedRecord prepare_one(const Record& record) {
  NcclSettings settings = nccl_settings(record.collective->env);
  const Machine machine = machine_of(record);
  if (const auto& stated = record.collective->nccl_version) settings.version = find_nccl_version(*stated);
  if (!settings.version) settings.version = version_of_record(machine);
  PreparedRecord one{record, nccl_fabric(machine, settings), {}, {}, machine.notes};
  one.machines = class_of(one.fabric);
  one.kind = kind_of(one);
  return one;
}

// Rows of one sweep err together: many of them are not as many measurements.
constexpr double kRowsOfASweep = 6;

FitSweep sweep_of(const PreparedRecord& one, const RowFilter& filter) {
  FitSweep sweep{&one.fabric, {}, 1};
  const auto& rows = one.record.collective->rows;
  const Seconds overhead = tool_overhead(one.record.collective->tool);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (filter(one, i))
      sweep.rows.push_back({nccl_choice(one.fabric, rows[i].bytes), rows[i].bytes,
                            std::max(rows[i].time - overhead, 0.3 * rows[i].time)});
  sweep.weight = std::min(1.0, kRowsOfASweep / static_cast<double>(rows.size()));
  return sweep;
}

Calibration fitted_without(std::span<const PreparedRecord> known, const std::string& out, LeaveOut by) {
  auto calibration = fit(
      fit_sweeps(known, [&](const PreparedRecord& one, std::size_t) { return left_out(one, by) != out; }));
  calibration.unexplained = default_calibration().unexplained;
  return calibration;
}

}  // namespace

std::vector<PreparedRecord> prepare(std::span<const Record> records, std::vector<Skipped>* skipped) {
  std::vector<PreparedRecord> all;
  for (const Record& record : records) {
    if (!record.collective) continue;
    const std::string what = fmt::format("{} ({})", record.where, record.id);
    if (record.collective->nodes * record.collective->gpus_per_node < 2) {
      if (skipped != nullptr) skipped->push_back({what, Unpredicted::one_gpu});
      continue;
    }
    try {
      all.push_back(prepare_one(record));
    } catch (const ConfigError& error) {
      if (skipped == nullptr) throw ConfigError(fmt::format("{}: {}", what, error.what()));
      skipped->push_back({what, Unpredicted::refused, error.what()});
    }
  }
  return all;
}

std::vector<FitSweep> fit_sweeps(std::span<const PreparedRecord> all, const RowFilter& filter) {
  const auto weights = group_weights(all);
  std::vector<FitSweep> sweeps;
  for (const PreparedRecord& one : all) {
    if (!usable(one.record)) continue;
    FitSweep sweep = sweep_of(one, filter);
    sweep.weight *= weights.at(one.record.group) * (one.record.quality == Quality::ok ? 1 : kWeakWeight);
    if (!sweep.rows.empty()) sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

namespace {

ValidationPoint point_of(const PreparedRecord& one, const NcclPredictor& predictor, std::size_t row) {
  const MeasuredTime& measured = one.record.collective->rows[row];
  const Seconds time = predictor.time(measured.bytes), overhead = tool_overhead(one.record.collective->tool);
  const NcclDoubt doubt = predictor.doubt(measured.bytes);
  const double width = doubt.width();
  return {one.record.id,
          one.record.platform,
          one.record.group,
          fmt::format("{} bytes", measured.bytes),
          RecordKind::collective,
          one.record.quality,
          measured.bytes,
          measured.time * 1e6,
          (time + overhead) * 1e6,
          (time / width + overhead) * 1e6,
          (time * width + overhead) * 1e6,
          alpha_beta_time(one, measured.bytes) * 1e6,
          std::string(name_of(one.machines)),
          false,
          {.of_machine = one.assumed},
          NcclDoubt{doubt.by_constant}.total() * time / (time + overhead),
          one.machines};
}

template <typename CalibrationOf>
std::vector<ValidationPoint> predict(std::span<const PreparedRecord> asked,
                                     const CalibrationOf& calibration_of) {
  std::vector<ValidationPoint> points;
  for (const PreparedRecord& one : asked) {
    const NcclPredictor predictor(one.fabric, calibration_of(one));
    for (std::size_t i = 0; i < one.record.collective->rows.size(); ++i)
      points.push_back(point_of(one, predictor, i));
  }
  return points;
}

}  // namespace

const Calibration& CalibrationsWithout::of(const std::string& name) {
  const auto is_it = [&](const PreparedRecord& one) { return left_out(one, by_) == name; };
  if (std::none_of(known_.begin(), known_.end(), is_it)) return default_calibration();
  const auto found = made_.find(name);
  if (found != made_.end()) return found->second;
  return made_.emplace(name, fitted_without(known_, name, by_)).first->second;
}

const Calibration& CalibrationsWithout::of(const PreparedRecord& one) { return of(left_out(one, by_)); }

std::vector<ValidationPoint> cross_validate(std::span<const PreparedRecord> asked,
                                            std::span<const PreparedRecord> known, LeaveOut by) {
  CalibrationsWithout without(known, by);
  const auto of = [&](const PreparedRecord& one) -> const Calibration& { return without.of(one); };
  return predict(asked, of);
}

Calibration with_own_sweep(const Calibration& calibration, const PreparedRecord& one,
                           const RowFilter& filter) {
  FitSweep sweep = sweep_of(one, filter);
  sweep.weight = 1;
  return fit_own(calibration, {&sweep, 1});
}

std::vector<ValidationPoint> validate_with_own_sweep(std::span<const PreparedRecord> asked,
                                                     std::span<const PreparedRecord> known) {
  constexpr std::size_t kMostFits = 32;  // of a sweep; longer ones leave out several rows at once
  std::vector<ValidationPoint> points;
  CalibrationsWithout without(known);
  for (const PreparedRecord& one : asked) {
    const std::size_t rows = one.record.collective->rows.size(), fits = std::min(rows, kMostFits);
    if (rows < 2) continue;
    const std::size_t first = points.size();
    points.resize(first + rows);
    for (std::size_t left = 0; left < fits; ++left) {
      const auto others = [&](const PreparedRecord&, std::size_t row) { return row % fits != left; };
      const NcclPredictor predictor(one.fabric, with_own_sweep(without.of(one), one, others));
      for (std::size_t row = left; row < rows; row += fits)
        points[first + row] = point_of(one, predictor, row);
    }
  }
  return points;
}

Calibration calibrate(std::span<const PreparedRecord> known, std::span<const PreparedRecord> later) {
  Calibration calibration = fit(fit_sweeps(known, [](const PreparedRecord&, std::size_t) { return true; }));
  const auto same = [&](const PreparedRecord&) -> const Calibration& { return calibration; };
  auto points = cross_validate(known, known);
  std::ranges::move(predict(later, same), std::back_inserter(points));
  calibration.unexplained = left_open(points);
  return calibration;
}

const std::vector<Record>& built_in_records() {
  static const std::vector<Record> records =
      parse_records(predict_preset_text("collectives.jsonl"), "collectives.jsonl");
  return records;
}

}  // namespace gradwire
