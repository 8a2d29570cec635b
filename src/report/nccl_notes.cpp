#include "report/nccl_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "predict/nccl/all_reduce.h"

namespace gradwire {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 100, version % 100); }

}  // namespace

std::optional<std::string> find_environment_note(const NcclSettings& settings) {
  std::vector<std::string> notes;
  if (!settings.stated.empty())
    notes.push_back(fmt::format("the environment sets {}: collectives are priced as NCCL runs them with it",
                                join(settings.stated, ", ")));
  if (settings.version)
    notes.push_back(
        fmt::format("NCCL is {}, as --nccl or NCCL_VERSION says", version_text(*settings.version)));
  if (notes.empty()) return std::nullopt;
  return join(notes, "; ");
}

std::optional<std::string> find_unmet_note(const Machine& machine, const NcclSettings& settings,
                                           Collective kind) {
  if (can_obey(machine, settings, kind)) return std::nullopt;
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
  const auto way = [&](const NcclSettings& with) { return way_of(nccl_fabric(machine, with)); };
  const Way there = way(with_version(settings, other->before()));
  const auto what =
      there == way(settings) ? "its rings were laid otherwise" : "data went over " + path_name(there);
  return fmt::format("{} {}; --nccl says which it is", to_words(*other), what);
}

std::optional<std::string> find_host_memory_note(const Machine& machine, const NcclSettings& settings) {
  if (machine.gpus.size() < 2 || !machine.p2p || settings.p2p_disabled || settings.p2p_level)
    return std::nullopt;
  if (machine.nodes > 1 || nccl_fabric(machine, settings).link() != NcclLink::host) return std::nullopt;
  return fmt::format(
      "these GPUs have peer access over PCIe, which NCCL {} does not use so far apart under such processors: "
      "its all-reduces go through host memory; NCCL_P2P_LEVEL=SYS tells it to go straight",
      version_text(version_of(machine, settings)));
}

std::vector<std::string> nccl_notes(const Machine& machine, const NcclSettings& settings, Collective kind) {
  std::vector<std::string> notes;
  for (auto& note : {find_environment_note(settings), find_unmet_note(machine, settings, kind),
                     find_version_note(machine, settings)})
    if (note) notes.push_back(*note);
  return notes;
}

std::string to_words(const OtherVersion& other) {
  return fmt::format("NCCL is taken as {}, before {}", version_text(other.taken), version_text(other.since));
}

}  // namespace gradwire
