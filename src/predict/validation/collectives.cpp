#include "predict/validation/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "predict/presets.h"
#include "predict/records/read.h"

namespace gradwire {
namespace {

constexpr double kWeakWeight = 0.05;             // of a record something is missing from
constexpr Bytes kFromOneMegabyte = 1000 * 1000;  // FORMAT: "rows of 1 MB and more"

// What a tool adds to NCCL's own time. torch.distributed measured from Python: stas-b200-1node is 15 to 25 us
// above aic-b200_sxm-8gpu at equal sizes, whatever the size.
Seconds tool_overhead(BenchTool tool) { return tool == BenchTool::torch_distributed ? 22e-6 : 0; }

bool usable(const Record& record) { return record.quality != Quality::odd; }

// Bytes over the rate of the link: a ring at the nominal speed of NVLink, PCIe or the network, plus one
// latency.
Seconds alpha_beta_time(const PreparedRecord& one, Bytes bytes) {
  const NcclFabric& fabric = one.fabric;
  const double link =
      fabric.link == NcclLink::host || fabric.link == NcclLink::pcie ? fabric.pcie_gbps : fabric.node_gbps;
  double rate = link;
  if (fabric.nodes > 1)
    rate = link > 0 ? std::min(link, fabric.network_nominal_gbps) : fabric.network_nominal_gbps;
  const double n = fabric.ranks;
  return one.terms.latency + 2 * (n - 1) / n * static_cast<double>(bytes) / (rate * 1e9);
}

const std::string& left_out(const Record& record, LeaveOut by) {
  return by == LeaveOut::platform ? record.platform : record.group;
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
  const NcclSettings settings = nccl_settings(record.collective->env);
  const Machine machine = machine_of(record);
  PreparedRecord one{record, nccl_fabric(machine, settings), {}, {}, machine.notes};
  one.terms = nccl_terms(one.fabric, settings);
  one.classes = nccl_classes(one.fabric);
  return one;
}

}  // namespace

std::vector<PreparedRecord> prepare(std::span<const Record> records, std::vector<std::string>* skipped) {
  std::vector<PreparedRecord> all;
  for (const Record& record : records) {
    if (!record.collective) continue;
    if (record.collective->nodes * record.collective->gpus_per_node < 2) {
      if (skipped != nullptr)
        skipped->push_back(fmt::format("{} ({}): one GPU alone sends nothing", record.where, record.id));
      continue;
    }
    try {
      all.push_back(prepare_one(record));
    } catch (const ConfigError& error) {
      const std::string what = fmt::format("{} ({}): {}", record.where, record.id, error.what());
      if (skipped == nullptr) throw ConfigError(what);
      skipped->push_back(what);
    }
  }
  return all;
}

std::vector<FitSample> fit_samples(std::span<const PreparedRecord> all, const RowFilter& filter) {
  const auto weights = group_weights(all);
  std::vector<FitSample> samples;
  for (const PreparedRecord& one : all) {
    if (!usable(one.record)) continue;
    const double weight =
        weights.at(one.record.group) * (one.record.quality == Quality::ok ? 1 : kWeakWeight);
    const auto& rows = one.record.collective->rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!filter(one.record, i)) continue;
      const Seconds own =
          std::max(rows[i].time - tool_overhead(one.record.collective->tool), 0.3 * rows[i].time);
      const Seconds transfer = static_cast<double>(rows[i].bytes) / one.terms.bytes_per_s;
      samples.push_back({one.classes, one.terms.latency, transfer, own, weight, {}, one.record.group});
    }
  }
  return samples;
}

Seconds predict_row(const PreparedRecord& one, const Calibration& calibration, Bytes bytes) {
  return corrected_time(one.terms.latency, static_cast<double>(bytes) / one.terms.bytes_per_s,
                        calibration.find(one.classes)) +
         tool_overhead(one.record.collective->tool);
}

ValidationPoint predict_point(const PreparedRecord& one, const Calibration& calibration, std::size_t row) {
  const MeasuredTime& measured = one.record.collective->rows[row];
  ValidationPoint point{one.record.id,
                        one.record.platform,
                        one.record.group,
                        fmt::format("{} bytes", measured.bytes),
                        RecordKind::collective,
                        one.record.quality,
                        measured.bytes,
                        measured.time * 1e6,
                        predict_row(one, calibration, measured.bytes) * 1e6,
                        alpha_beta_time(one, measured.bytes) * 1e6,
                        one.classes.scope,
                        false,
                        one.assumed,
                        {}};
  return point;
}

std::map<std::string, Calibration> calibrations_without(std::span<const PreparedRecord> asked,
                                                        std::span<const PreparedRecord> known, LeaveOut by) {
  std::map<std::string, Calibration> without;
  for (const PreparedRecord& one : asked) {
    const std::string& out = left_out(one.record, by);
    if (without.contains(out)) continue;
    const auto others = [&](const Record& record, std::size_t) { return left_out(record, by) != out; };
    without.emplace(out, fit(fit_samples(known, others)));
  }
  return without;
}

const Calibration& CalibrationsWithout::platform(const std::string& name) {
  const auto is_it = [&](const PreparedRecord& one) { return one.record.platform == name; };
  if (std::none_of(known_.begin(), known_.end(), is_it)) return default_calibration();
  const auto found = made_.find(name);
  if (found != made_.end()) return found->second;
  const auto others = [&](const Record& record, std::size_t) { return record.platform != name; };
  return made_.emplace(name, fit(fit_samples(known_, others))).first->second;
}

std::vector<ValidationPoint> cross_validate(std::span<const PreparedRecord> asked,
                                            std::span<const PreparedRecord> known, LeaveOut by) {
  const auto without = calibrations_without(asked, known, by);
  std::vector<ValidationPoint> points;
  for (const PreparedRecord& one : asked)
    for (std::size_t i = 0; i < one.record.collective->rows.size(); ++i)
      points.push_back(predict_point(one, without.at(left_out(one.record, by)), i));
  return points;
}

Calibration with_own_sweep(Calibration calibration, const PreparedRecord& one, const RowFilter& filter) {
  constexpr double kOwn = 0.1, kTrust = 10;  // a sweep of its own soon outweighs its class
  const std::vector<CalibrationClass> own = {{one.classes.machine, kOwn}};
  std::vector<FitSample> samples = fit_samples({&one, 1}, filter);
  for (FitSample& sample : samples) {
    sample.weight = kTrust;
    sample.known = calibration.find(sample.classes);
    sample.classes = {own, own, own, "", ""};
  }
  const Calibration fitted = fit(samples);
  calibration.latency.insert(fitted.latency.begin(), fitted.latency.end());
  calibration.transfer.insert(fitted.transfer.begin(), fitted.transfer.end());
  calibration.ramp.insert(fitted.ramp.begin(), fitted.ramp.end());
  calibration.fitted_on.insert(fitted.fitted_on.begin(), fitted.fitted_on.end());
  return calibration;
}

std::vector<ValidationPoint> validate_with_own_sweep(std::span<const PreparedRecord> asked,
                                                     std::span<const PreparedRecord> known) {
  std::vector<ValidationPoint> points;
  const auto without = calibrations_without(asked, known, LeaveOut::platform);
  for (const PreparedRecord& one : asked) {
    const std::size_t rows = one.record.collective->rows.size();
    for (std::size_t i = 0; i < rows && rows > 1; ++i) {
      const auto others = [i](const Record&, std::size_t row) { return row != i; };
      points.push_back(predict_point(one, with_own_sweep(without.at(one.record.platform), one, others), i));
    }
  }
  return points;
}

Calibration calibrate(std::span<const PreparedRecord> all) {
  Calibration calibration = fit(fit_samples(all, [](const Record&, std::size_t) { return true; }));
  std::map<std::string, std::array<std::pair<double, int>, 2>> errors;  // sum and count, small and large
  for (const ValidationPoint& point : cross_validate(all, all)) {
    if (point.quality != Quality::ok) continue;
    for (const std::string& scope : {point.scope, std::string("all")}) {
      auto& [sum, count] = errors[scope][point.bytes >= kFromOneMegabyte ? 1 : 0];
      sum += std::abs(point.error());
      ++count;
    }
  }
  const auto mean = [](const std::pair<double, int>& of) { return of.second ? of.first / of.second : 0; };
  for (const auto& [scope, both] : errors) calibration.errors[scope] = {mean(both[0]), mean(both[1])};
  for (auto& [scope, error] : calibration.errors)  // a class measured on one side only
    for (double ExpectedError::*side : {&ExpectedError::below_1mb, &ExpectedError::from_1mb})
      if (error.*side == 0) error.*side = calibration.errors.at("all").*side;
  return calibration;
}

const std::vector<Record>& built_in_records() {
  static const std::vector<Record> records =
      parse_records(predict_preset_text("collectives.jsonl"), "collectives.jsonl");
  return records;
}

}  // namespace gradwire
