#include "sim/sharing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"

namespace gradwire {

Sharing::Sharing(const Network& network, double efficiency)
    : network_(network),
      pipes_(network.pipes().size()),
      place_(network.hops().size()),
      way_of_hop_(network.hops().size()),
      flows_(static_cast<std::size_t>(network.ways())),
      rates_(flows_.size()),
      seen_(flows_.size()),
      settled_(flows_.size()) {
  if (!(efficiency > 0) || !std::isfinite(efficiency))
    throw ConfigError(fmt::format("an efficiency of {}: it must be above 0", efficiency));
  for (std::size_t i = 0; i < pipes_.size(); ++i)
    pipes_[i].capacity = network.pipes()[i].bytes_per_s * efficiency;
  for (WayId way = 0; way < network.ways(); ++way)
    std::fill(way_of_hop_.begin() + static_cast<std::ptrdiff_t>(network.first_hop(way)),
              way_of_hop_.begin() + static_cast<std::ptrdiff_t>(network.first_hop(way + 1)), way);
}

void Sharing::touch(PipeId pipe) {
  if (std::exchange(pipes_[pipe].touched, true)) return;
  touched_.push_back(pipe);
}

void Sharing::join(WayId way) {
  for (std::size_t hop = network_.first_hop(way); hop < network_.first_hop(way + 1); ++hop) {
    auto& users = pipes_[network_.hops()[hop]].users;
    place_[hop] = static_cast<std::int32_t>(users.size());
    users.push_back(static_cast<std::int32_t>(hop));
  }
}

void Sharing::leave(WayId way) {
  for (std::size_t hop = network_.first_hop(way); hop < network_.first_hop(way + 1); ++hop) {
    auto& users = pipes_[network_.hops()[hop]].users;
    const std::int32_t last = users.back();
    users[place_[hop]] = last;
    place_[last] = place_[hop];
    users.pop_back();
  }
  rates_[way] = 0;
}

void Sharing::begin(WayId way, int flows) {
  const auto route = network_.route(way);
  check(!route.empty() && flows > 0, "a flow must cross a pipe");
  if (flows_[way] == 0) join(way);
  flows_[way] += flows;
  for (const PipeId pipe : route) {
    pipes_[pipe].flows += flows;
    touch(pipe);
  }
}

void Sharing::end(WayId way, int flows) {
  check(flows > 0 && flows_[way] >= flows, "more flows end than have begun");
  flows_[way] -= flows;
  for (const PipeId pipe : network_.route(way)) {
    pipes_[pipe].flows -= flows;
    touch(pipe);
  }
  if (flows_[way] == 0) leave(way);
}

std::span<const WayId> Sharing::settle() {
  changed_.clear();
  ++round_;
  for (const PipeId pipe : touched_) {
    pipes_[pipe].touched = false;
    if (pipes_[pipe].seen == round_ || pipes_[pipe].users.empty()) continue;
    collect(pipe);
    fill();
  }
  touched_.clear();
  return changed_;
}

// All ways and pipes that `first` has to do with, through whatever they share.
void Sharing::collect(PipeId first) {
  members_.clear();
  reached_.assign(1, first);
  pipes_[first].seen = round_;
  for (std::size_t i = 0; i < reached_.size(); ++i)
    for (const std::int32_t hop : pipes_[reached_[i]].users) {
      const WayId way = way_of_hop_[hop];
      if (std::exchange(seen_[way], round_) == round_) continue;
      members_.push_back(way);
      for (const PipeId pipe : network_.route(way))
        if (std::exchange(pipes_[pipe].seen, round_) != round_) reached_.push_back(pipe);
    }
}

void Sharing::fill() {
  if (members_.size() == 1) {
    double rate = std::numeric_limits<double>::infinity();
    for (const PipeId pipe : reached_)
      rate = std::min(rate, pipes_[pipe].capacity / static_cast<double>(pipes_[pipe].flows));
    return set_rate(members_.front(), rate);
  }
  offers_.clear();
  for (const PipeId id : reached_) {
    State& pipe = pipes_[id];
    pipe.left = pipe.capacity;
    pipe.open = pipe.flows;
    offers_.push_back({pipe.left / static_cast<double>(pipe.open), id});
  }
  std::make_heap(offers_.begin(), offers_.end());
  double level = 0;  // the rate at which the last were settled; rounding must not take later ones below it
  while (!offers_.empty()) {
    std::pop_heap(offers_.begin(), offers_.end());
    const Offer offer = offers_.back();
    const State& pipe = pipes_[offer.pipe];
    const double each = pipe.open == 0 ? 0 : pipe.left / static_cast<double>(pipe.open);
    if (pipe.open > 0 && each > offer.each * (1 + kSame)) {
      offers_.back().each = each;
      std::push_heap(offers_.begin(), offers_.end());
      continue;
    }
    offers_.pop_back();
    if (pipe.open == 0) continue;
    if (each > level * (1 + kSame)) level = each;
    settle_users(offer.pipe, level);
  }
}

void Sharing::settle_users(PipeId full, double rate) {
  for (const std::int32_t hop : pipes_[full].users) {
    const WayId way = way_of_hop_[hop];
    if (std::exchange(settled_[way], round_) == round_) continue;
    for (const PipeId pipe : network_.route(way)) {
      pipes_[pipe].left -= rate * flows_[way];
      pipes_[pipe].open -= flows_[way];
    }
    set_rate(way, rate);
  }
}

void Sharing::set_rate(WayId way, double rate) {
  if (std::abs(rate - rates_[way]) <= kSame * rate) return;
  rates_[way] = rate;
  changed_.push_back(way);
}

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
