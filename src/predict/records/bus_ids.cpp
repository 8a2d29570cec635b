#include "predict/records/read.h"

#include <algorithm>
#include <regex>
#include <string>

namespace gradwire {
namespace {

constexpr int kApart = 0x10;  // less than this between the first and the last card behind a switch
constexpr int kSecondSocket = 0x80;

// Buses from the root before it to a card; absent if no root is near.
std::optional<int> beyond_root(std::span<const int> roots, int bus) {
  const auto after = std::lower_bound(roots.begin(), roots.end(), bus);
  if (after == roots.begin() || bus - *(after - 1) >= kApart) return std::nullopt;
  return bus - *(after - 1);
}

// Cards behind each switch: the most of which every row of so many lies close together.
int cards_per_switch(std::span<const int> sorted) {
  const int count = static_cast<int>(sorted.size());
  for (int each = count; each > 1; --each) {
    if (count % each != 0) continue;
    bool close = true;
    for (int i = 0; i < count; i += each)
      close &= sorted[static_cast<std::size_t>(i + each - 1)] - sorted[static_cast<std::size_t>(i)] < kApart;
    if (close) return each;
  }
  return 0;
}

// A card in a slot of its own is the bus after its root. A switch takes two before its first card: its upstream port and the bus
// inside. Processors that others number alike have several slots to a root, where this tells nothing.
bool behind_switches(std::span<const int> bus_ids) {
  const auto cpu = processor_by_bus_ids(bus_ids);
  return cpu && !cpu->numbered_alike && std::ranges::all_of(bus_ids, [&](int bus) {
           return beyond_root(cpu->root_buses, bus).value_or(0) > 2;
         });
}

}  // namespace

std::vector<int> bus_ids_in(std::string_view text) {
  static const std::regex kIds(R"(\bbus(?: ids?)? ((?:[0-9a-f]{2}(?:, | and | \| |-| )?)+)(?![0-9a-z]))");
  static const std::regex kOne(R"((-?)([0-9a-f]{2}))");
  std::cmatch found;
  std::vector<int> ids;
  if (!std::regex_search(text.data(), text.data() + text.size(), found, kIds)) return ids;
  const std::string list = found[1];
  for (std::sregex_iterator one(list.begin(), list.end(), kOne), end; one != end; ++one) {
    const int id = std::stoi((*one)[2], nullptr, 16);
    if ((*one)[1].length() > 0 && !ids.empty())
      for (int between = ids.back() + 1; between < id; ++between) ids.push_back(between);
    ids.push_back(id);
  }
  return ids;
}

std::optional<PcieLayout> layout_by_bus_ids(std::span<const int> bus_ids) {
  std::vector<int> sorted(bus_ids.begin(), bus_ids.end());
  std::sort(sorted.begin(), sorted.end());
  const int count = static_cast<int>(sorted.size());
  if (count < 2 || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return std::nullopt;
  const int below =
      static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), kSecondSocket) - sorted.begin());
  PcieLayout layout;
  layout.gpus_per_switch = cards_per_switch(sorted);
  if (layout.gpus_per_switch == 0 && behind_switches(sorted)) layout.gpus_per_switch = 1;
  layout.gpus_per_bridge = std::max(1, layout.gpus_per_switch);
  layout.gpus_per_socket = below == 0 || below == count ? count : count / 2;
  const bool even = below == 0 || below == count || 2 * below == count;
  if (!even || layout.gpus_per_socket % layout.gpus_per_bridge != 0) return std::nullopt;
  return layout;
}

// Slots of a board lie about equally deep behind their roots: the family whose distances differ least.
std::optional<Processor> processor_by_bus_ids(std::span<const int> bus_ids) {
  std::optional<Processor> found;
  std::pair<int, int> least;  // how much distances differ, then the largest
  if (std::ranges::none_of(bus_ids, [](int bus) { return bus >= kApart; })) return found;
  for (const Processor& cpu : all_processors()) {
    std::vector<int> distances;
    for (const int bus : bus_ids)
      if (const auto distance = beyond_root(cpu.root_buses, bus)) distances.push_back(*distance);
    if (distances.size() < bus_ids.size()) continue;
    const auto [nearest, farthest] = std::ranges::minmax(distances);
    const std::pair differ(farthest - nearest, farthest);
    if (!found || differ < least) found = cpu, least = differ;
  }
  return found;
}

}  // namespace gradwire
