#include "predict/nccl/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "base/text.h"
#include "predict/nccl/all_reduce.h"
#include "predict/nccl/hops.h"
#include "predict/nccl/price.h"

namespace gradwire {
namespace {

// PyTorch brings 2.27 with its releases 2.9 and 2.10 and 2.28 with 2.11. Published figures that do not state theirs are of 2019
// to 2024, most of them before 2.23.
constexpr int kOfToday = 228, kOfRecords = 218, kFirstOfBlackwell = 225;

std::string version_text(int version) { return fmt::format("{}.{}", version / 100, version % 100); }

NcclSettings with_version(NcclSettings settings, int version) {
  settings.version = version;
  return settings;
}

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

std::string to_words(const OtherVersion& other) {
  return fmt::format("NCCL is taken as {}, before {}", version_text(other.taken), version_text(other.since));
}

std::optional<std::string> find_unmet_note(const Machine& machine, const NcclSettings& settings,
                                           Collective kind) {
  if (machine.gpus.size() < 2 || can_obey(nccl_fabric(machine, settings), kind)) return std::nullopt;
  std::vector<std::string> lists;
  std::ranges::copy_if(settings.stated, std::back_inserter(lists), [](const std::string& one) {
    return one.starts_with("NCCL_ALGO=") || one.starts_with("NCCL_PROTO=");
  });
  return fmt::format("{} leaves no {} that has a price on these links: Ring or Tree is taken",
                     join(lists, ", "), name_of(kind));
}

std::optional<std::string> find_version_note(const Machine& machine, const NcclSettings& settings) {
  const auto other = find_other_version(machine, settings);
  if (!other) return std::nullopt;
  const auto path = [&](const NcclSettings& with) { return path_name(nccl_fabric(machine, with)); };
  const auto there = path(with_version(settings, other->before()));
  const auto what = there == path(settings) ? "its rings were laid otherwise" : "data went over " + there;
  return fmt::format("{} {}; --nccl says which it is", to_words(*other), what);
}

std::vector<std::string> nccl_notes(const Machine& machine, const NcclSettings& settings, Collective kind) {
  std::vector<std::string> notes;
  for (auto& note : {find_environment_note(settings), find_unmet_note(machine, settings, kind),
                     find_version_note(machine, settings)})
    if (note) notes.push_back(*note);
  return notes;
}

}  // namespace gradwire
