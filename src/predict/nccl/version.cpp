#include "predict/nccl/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>

#include "base/text.h"
#include "predict/nccl/all_reduce.h"
#include "predict/nccl/hops.h"
#include "predict/nccl/price.h"

namespace gradwire {
namespace {

// Records that do not state theirs are of 2019 to 2024, before 2.23: what the model was fitted to and is judged by. PyTorch
// brings 2.26 and later since its release 2.7.
constexpr int kOfRecords = 218, kOfToday = 226, kFirstOfBlackwell = 225;

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

// Those after the one that is taken at which rules for this machine's processors change, up to today's.
std::set<int> turning_points(const Machine& machine, int taken) {
  const MakerRules& rules = rules_of(machine);
  std::set<int> points = {rules.socket_limit_since, rules.one_way_since};
  for (const auto& rule : rules.peer_access) points.insert(rule.since);
  std::erase_if(points, [&](int point) { return point <= taken || point > kOfToday; });
  return points;
}

}  // namespace

int version_of(const Machine& machine, const NcclSettings& settings) {
  if (settings.version) return *settings.version;
  return machine.node.nccl.value_or(machine.gpu.sm >= 100 ? kFirstOfBlackwell : kOfRecords);
}

NcclSettings settings_on(const Machine& machine, NcclSettings settings) {
  if (!settings.version) settings.version = machine.node.nccl;
  return settings;
}

std::optional<OtherVersion> find_other_version(const Machine& machine, const NcclSettings& settings) {
  const bool stated = settings.version || machine.node.nccl || !machine.node.own.values.empty();
  if (stated || machine.gpus.size() < 2) return std::nullopt;
  const int taken = version_of(machine, settings);
  const auto points = turning_points(machine, taken);
  if (points.empty() || nccl_fabric(machine, settings).over_nvlink()) return std::nullopt;
  const auto model_of = [&](int version) {
    return std::make_unique<NcclModel>(machine, default_calibration(), with_version(settings, version));
  };
  const auto now = model_of(taken);
  if (take_as_long(*now, *model_of(kOfToday))) return std::nullopt;
  const auto differs = [&](int point) { return !take_as_long(*now, *model_of(point)); };
  const auto first = std::ranges::find_if(points, differs);
  return OtherVersion{kOfToday, first == points.end() ? kOfToday : *first};
}

std::string to_words(const OtherVersion& other) {
  return fmt::format("NCCL is taken as older than {}, with {}", version_text(other.since),
                     version_text(other.today));
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
  const auto there = path(with_version(settings, other->today));
  const auto what = there == path(settings) ? "its rings are laid otherwise" : "data goes over " + there;
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
