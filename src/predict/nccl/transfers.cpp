#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "predict/nccl/collective.h"
#include "predict/nccl/messages.h"
#include "predict/nccl/own.h"
#include "predict/nccl/version.h"

namespace gradwire {

// Pairs that take the same way at the same rate.
struct TransferModel::Kind {
  Kind(NcclFabric f, const Calibration& c, double rate, Narrowest held_up_by)
      : fabric(std::move(f)),
        calibration(c),
        price(fabric, c.values),
        gbps(rate),
        narrowest(std::move(held_up_by)) {}
  NcclFabric fabric;
  Calibration calibration;
  NcclPrice price;
  double gbps;
  Narrowest narrowest;

  Seconds time(Bytes bytes) const { return price.send(gbps, bytes); }
  double width(Bytes bytes) const {
    const Unexplained open = calibration.unexplained_of(class_of(fabric));
    return std::exp(kEightOfTen * (bytes < 1'000'000 ? open.below_1mb : open.from_1mb));
  }
};

namespace {

NcclFabric pair_fabric(const Machine& machine, const NcclSettings& settings) {
  NcclFabric fabric;
  fabric.ranks = 2, fabric.ranks_per_node = 2;
  fabric.sm = machine.gpu.sm;
  fabric.settings = settings_on(machine, settings);
  fabric.slot_gbps = slot_gbps(machine);
  return fabric;
}

// Between nodes: how many messages leave by a network card, and how many enter by it. One that could take several
// cards sends a part over each.
class CardLoads {
 public:
  explicit CardLoads(const Machine& machine) : machine_(machine) {}

  void add(int from, int to) {
    for (const auto& [card, part] : parts(from, to)) loads_[card] += part;
  }
  double most_of(int from, int to) const {
    double most = 0;
    for (const auto& [card, part] : parts(from, to)) most = std::max(most, loads_.at(card));
    return most;
  }

 private:
  using Card = std::pair<DeviceId, bool>;  // true: what enters

  std::map<Card, double> parts(int from, int to) const {
    std::map<Card, double> parts;
    for (const bool in : {false, true}) {
      const auto cards = cards_of(machine_, {machine_.gpus[static_cast<std::size_t>(in ? to : from)]});
      for (const DeviceId card : cards) parts[{card, in}] = 1 / static_cast<double>(cards.size());
    }
    return parts;
  }

  const Machine& machine_;
  std::map<Card, double> loads_;
};

struct SlowestPair {
  double gbps = HUGE_VAL;
  Narrowest narrowest;  // what holds up the messages of its node
};

// The slowest of each kind of way.
class SlowestPairs {
 public:
  SlowestPairs(const Machine& machine, const RankPairs& pairs, const NcclSettings& settings)
      : machine_(machine),
        settings_(settings),
        a_node_(static_cast<int>(machine.gpus.size()) / machine.nodes) {
    for (const auto& [from, to] : pairs) {
      check_pair(from, to);
      if (from / a_node_ == to / a_node_)
        inside_[from / a_node_].push_back({from % a_node_, to % a_node_});
      else
        between_.push_back({from, to});
    }
  }

  // By way. Nodes whose pairs sit alike are looked at once.
  std::map<NcclLink, SlowestPair> inside(const NcclConstants& constants) const {
    std::map<NcclLink, SlowestPair> slowest;
    std::set<RankPairs> seen;
    for (const auto& [node, pairs] : inside_) {
      if (!seen.insert(pairs).second) continue;
      Messages messages(machine_, machine_.gpus.size(), settings_);
      for (const auto& [from, to] : pairs) messages.add(gpu(from), gpu(to));
      messages.own_so_far();
      for (const auto& [link, gbps] : messages.rates(constants))
        if (SlowestPair& found = slowest[link]; gbps < found.gbps)
          found = {gbps, messages.narrowest_of_own(constants)};
    }
    return slowest;
  }

  // Those for other nodes, and how many share the most loaded card.
  const RankPairs& between() const { return between_; }
  double most_at_a_card() const {
    CardLoads loads(machine_);
    for (const auto& [from, to] : between_) loads.add(from, to);
    double most = 0;
    for (const auto& [from, to] : between_) most = std::max(most, loads.most_of(from, to));
    return most;
  }
  DeviceId gpu(int rank) const { return machine_.gpus[static_cast<std::size_t>(rank)]; }

 private:
  void check_pair(int from, int to) const {
    const int ranks = static_cast<int>(machine_.gpus.size());
    if (from < 0 || to < 0 || from >= ranks || to >= ranks || from == to)
      throw ConfigError(fmt::format("no message goes from rank {} to rank {}: {} has {} ranks", from, to,
                                    machine_.name, ranks));
  }

  const Machine& machine_;
  const NcclSettings& settings_;
  int a_node_;
  std::map<int, RankPairs> inside_;
  RankPairs between_;
};

}  // namespace

TransferModel::TransferModel(const Machine& machine, const RankPairs& pairs, const Calibration& calibration,
                             const NcclSettings& settings) {
  const Calibration own = own_calibration(machine, calibration);
  const SlowestPairs slowest(machine, pairs, settings);
  for (auto& [link, pair] : slowest.inside(own.values)) {
    NcclFabric fabric = pair_fabric(machine, settings);
    fabric.rings.link = link;
    kinds_.push_back(std::make_unique<Kind>(std::move(fabric), own, pair.gbps, pair.narrowest));
  }
  if (slowest.between().empty()) return;
  NcclFabric fabric = pair_fabric(machine, settings);
  fabric.nodes = 2, fabric.ranks_per_node = 1;
  const DeviceId from = slowest.gpu(slowest.between().front().first);
  add_network(machine, from, fabric);
  fabric.cards = 1, fabric.card_share = 1 / slowest.most_at_a_card();
  kinds_.push_back(std::make_unique<Kind>(std::move(fabric), own, 0, Narrowest{}));
  Kind& network = *kinds_.back();
  network.gbps = network.price.network_gbps();
  network.narrowest = find_narrowest(network.fabric, network.price, machine.topology);
  network.narrowest.one_card = true;
}

RankPairs message_pairs(Collective kind, int ranks) {
  RankPairs pairs;
  if (kind == Collective::send || kind == Collective::recv) pairs = {{0, 1}};
  for (int rank = 0; rank < ranks && kind == Collective::exchange; ++rank)
    pairs.push_back({rank, (rank + 1) % ranks});
  for (int rank = 1; rank < ranks && kind == Collective::gather; ++rank) pairs.push_back({rank, 0});
  for (int rank = 1; rank < ranks && kind == Collective::scatter; ++rank) pairs.push_back({0, rank});
  return pairs;
}

TransferModel::~TransferModel() = default;
TransferModel::TransferModel(TransferModel&&) noexcept = default;

const TransferModel::Kind& TransferModel::slowest(Bytes bytes) const {
  return **std::ranges::max_element(kinds_, {}, [&](const auto& one) { return one->time(bytes); });
}

Seconds TransferModel::time(Bytes bytes) const { return kinds_.empty() ? 0 : slowest(bytes).time(bytes); }

AllReduceEstimate TransferModel::estimate(Bytes bytes) const {
  AllReduceEstimate estimate;
  estimate.algorithm = "none";
  if (kinds_.empty() || bytes == 0) return estimate;
  const Kind& kind = slowest(bytes);
  set_time(estimate, kind.time(bytes), kind.width(bytes));
  set_words(estimate, kind.fabric, bytes);
  estimate.narrowest = kind.narrowest;
  estimate.bus_gbps = static_cast<double>(bytes) / estimate.time / 1e9;
  return estimate;
}

}  // namespace gradwire
