#include "sim/fair_share.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/sharing.h"

namespace gradwire {

std::vector<double> fair_share(std::span<const double> bytes_per_s,
                               std::span<const std::vector<PipeId>> routes) {
  std::map<std::vector<PipeId>, int> flows;  // by route, its pipes sorted
  std::vector<decltype(flows)::iterator> group;
  for (std::vector<PipeId> route : routes) {
    std::ranges::sort(route);
    group.push_back(flows.try_emplace(std::move(route)).first);
    ++group.back()->second;
  }
  // The pairs are but names for the ways: from rank 0 to as many ranks as there are routes.
  Network network(std::max<int>(1, static_cast<int>(flows.size())));
  for (const double rate : bytes_per_s) network.add_pipe({.bytes_per_s = rate});
  std::map<const std::vector<PipeId>*, WayId> way_of;
  for (const auto& [route, count] : flows) way_of[&route] = network.add_way({0, network.ways()}, route);

  Sharing sharing(network);
  for (const auto& [route, count] : flows)
    if (!route.empty()) sharing.begin(way_of[&route], count);
  sharing.settle();
  std::vector<double> rates;
  for (const auto& found : group)
    rates.push_back(found->first.empty() ? std::numeric_limits<double>::infinity()
                                         : sharing.rate(way_of[&found->first]));
  return rates;
}

}  // namespace gradwire
