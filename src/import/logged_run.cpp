// What a log of NCCL, or all logs of a run together, say of the run.
#include <algorithm>

#include "import/nccl_log.h"

namespace gradwire {

const LoggedTransport* NcclLog::find(Transport transport) const {
  const auto found = std::find_if(transports.begin(), transports.end(),
                                  [&](const auto& one) { return one.transport == transport; });
  return found == transports.end() ? nullptr : &*found;
}

bool NcclLog::spans_nodes() const {
  if (nodes) return *nodes > 1;
  return find(Transport::network) != nullptr || hosts.size() > 1 || addresses.size() > 1;
}

bool NcclLog::is_of_one_node() const {
  if (nodes) return *nodes == 1;
  const bool all_wrote = ranks && static_cast<int>(places.size()) >= *ranks;
  return ranks == 1 || (all_wrote && !transports.empty() && !spans_nodes());
}

std::optional<NcclLog> find_joined(const std::vector<NcclLog>& logs) {
  NcclLog run;
  const auto larger = [](std::optional<int>& most, const std::optional<int>& one) {
    if (one && (!most || *one > *most)) most = one;
  };
  std::map<int, LoggedRank> places;
  for (const NcclLog& log : logs) {
    for (const LoggedRank& place : log.places) {
      const auto& known = places.emplace(place.rank, place).first->second;
      if (known.host != place.host || known.bus != place.bus) return std::nullopt;
    }
    larger(run.ranks, log.ranks);
    larger(run.nodes, log.nodes);
    larger(run.gpus_per_node, log.gpus_per_node);
    run.hosts.insert(log.hosts.begin(), log.hosts.end());
    run.addresses.insert(log.addresses.begin(), log.addresses.end());
    run.interfaces.insert(log.interfaces.begin(), log.interfaces.end());
    run.cards.insert(log.cards.begin(), log.cards.end());
    run.roce = run.roce || log.roce;
    if (log.card_gbit) run.card_gbit = std::min(run.card_gbit.value_or(*log.card_gbit), *log.card_gbit);
    if (run.network.times == 0) run.network = log.network;
    run.used_cards.insert(log.used_cards.begin(), log.used_cards.end());
    run.transports.insert(run.transports.end(), log.transports.begin(), log.transports.end());
    run.failures.insert(run.failures.end(), log.failures.begin(), log.failures.end());
    run.peers.insert(run.peers.end(), log.peers.begin(), log.peers.end());
    run.path_types.insert(log.path_types.begin(), log.path_types.end());
    run.gpu_paths.insert(log.gpu_paths.begin(), log.gpu_paths.end());
    run.variables.insert(log.variables.begin(), log.variables.end());
    run.rccl = run.rccl || log.rccl;
    if (run.network.text.empty()) run.network = log.network;
    if (log.p2p_chunk) run.p2p_chunk = log.p2p_chunk;
    if (log.nvls) run.nvls = log.nvls;
    larger(run.channels, log.channels);
    if (log.blocked_p2p) run.blocked_p2p = log.blocked_p2p;
  }
  for (const auto& [rank, place] : places) run.places.push_back(place);
  return run;
}

}  // namespace gradwire
