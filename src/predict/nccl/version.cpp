#include "predict/nccl/version.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "predict/nccl/all_reduce.h"
#include "predict/nccl/hops.h"
#include "predict/nccl/price.h"

namespace gradwire {
namespace {

// PyTorch brings 2.27 with its releases 2.9 and 2.10 and 2.28 with 2.11. Published figures that do not state theirs are of 2019
// to 2024, most of them before 2.23.
constexpr int kOfToday = 228, kOfRecords = 218, kFirstOfBlackwell = 225;

bool take_as_long(const NcclModel& one, const NcclModel& other) {
  constexpr double kNoticed = 0.01;
  for (const Bytes bytes : {Bytes{1} << 20, Bytes{25} << 20, Bytes{256} << 20})
    if (std::abs(other.all_reduce_time(bytes) / one.all_reduce_time(bytes) - 1) > kNoticed) return false;
  return true;
}

// Versions since which rules for this machine's processors are others, after the oldest that may run there; newest first.
std::set<int, std::greater<>> turning_points(const Machine& machine) {
  const MakerRules& rules = rules_of(machine);
  std::set<int, std::greater<>> points = {rules.socket_limit_since, rules.one_way_since};
  for (const auto& rule : rules.peer_access) points.insert(rule.since);
  const int oldest = version_of_record(machine);
  std::erase_if(points, [&](int point) { return point <= oldest || point > kOfToday; });
  return points;
}

}  // namespace

int version_of(const Machine& machine, const NcclSettings& settings) {
  if (settings.version) return *settings.version;
  return machine.node.nccl.value_or(kOfToday);
}

int version_of_record(const Machine& machine) {
  return machine.gpu.sm >= 100 ? kFirstOfBlackwell : kOfRecords;
}

NcclSettings settings_on(const Machine& machine, NcclSettings settings) {
  if (!settings.version) settings.version = machine.node.nccl;
  return settings;
}

NcclSettings with_version(NcclSettings settings, int version) {
  settings.version = version;
  return settings;
}

std::optional<OtherVersion> find_other_version(const Machine& machine, const NcclSettings& settings) {
  const bool stated = settings.version || machine.node.nccl || !machine.node.own.values.empty();
  if (stated || machine.gpus.size() < 2) return std::nullopt;
  const auto points = turning_points(machine);
  if (points.empty() || nccl_fabric(machine, settings).over_nvlink()) return std::nullopt;
  const NcclModel now(machine, default_calibration(), settings);
  const auto differs = [&](int point) {
    return !take_as_long(now, NcclModel(machine, default_calibration(), with_version(settings, point - 1)));
  };
  const auto last = std::ranges::find_if(points, differs);
  if (last == points.end()) return std::nullopt;
  return OtherVersion{version_of(machine, settings), *last};
}

bool can_obey(const Machine& machine, const NcclSettings& settings, Collective kind) {
  return machine.gpus.size() < 2 || can_obey(nccl_fabric(machine, settings), kind);
}

}  // namespace gradwire
