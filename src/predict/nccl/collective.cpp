#include "predict/nccl/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "predict/nccl/messages.h"
#include "predict/nccl/own.h"

namespace gradwire {
namespace {

// NCCL starts messages to this many peers together (NCCL_MAX_DEV_WORK_P2P_PER_BATCH).
constexpr int kPeersAtOnce = 8;

}  // namespace

class GroupModel::Kind {
 public:
  Kind(const Machine& machine, GroupFabric group, const Calibration& calibration)
      : machine_(machine),
        group_(std::move(group)),
        fabric_(group_.fabric),
        all_reduce_(fabric_, calibration),
        around_(fabric_, calibration, Collective::all_gather),
        along_(fabric_, calibration, Collective::broadcast),
        narrowest_(find_narrowest(fabric_, all_reduce_.price(), machine.topology)) {}

  Seconds time(Collective kind, Bytes bytes) const {
    return kind == Collective::all_to_all ? all_to_all(bytes) : predictor(kind).time(bytes);
  }

  AllReduceEstimate estimate(Collective kind, Bytes bytes) const {
    if (fabric_.ranks > 1 && bytes > 0 && kind == Collective::all_to_all) return estimate_all_to_all(bytes);
    AllReduceEstimate estimate = estimate_of(fabric_, predictor(kind), bytes);
    if (estimate.time > 0) estimate.narrowest = narrowest_;
    return estimate;
  }

  // Whether that one's times are all the same.
  bool is_like(const Kind& other) const {
    const auto facts = [](const Kind& one) {
      const NcclPrice &ring = one.all_reduce_.price(), &chain = one.along_.price();
      return std::tuple(one.fabric_.ranks, one.fabric_.nodes, one.fabric_.ranks_per_node, one.fabric_.link(),
                        one.fabric_.rings.believed_gbps, one.fabric_.rings.thread_blocks, ring.rings().gbps,
                        chain.rings().gbps, ring.network_gbps(), one.fabric_.detour);
    };
    return facts(*this) == facts(other);
  }

 private:
  const NcclPredictor& predictor(Collective kind) const {
    if (kind == Collective::all_reduce) return all_reduce_;
    if (kind == Collective::broadcast || kind == Collective::reduce) return along_;
    if (kind == Collective::all_gather || kind == Collective::reduce_scatter) return around_;
    throw ConfigError(fmt::format("a {} moves no bytes that could be priced", name_of(kind)));
  }

  // Every rank sends a share to every other. Those inside the node and those for other nodes go at once; the cards
  // of a node carry what all its ranks send to all ranks elsewhere.
  Seconds all_to_all(Bytes bytes) const {
    if (fabric_.ranks == 1 || bytes == 0) return 0;
    const Bytes message = share_of(bytes);
    const int rounds = (fabric_.ranks - 2) / kPeersAtOnce + 1;
    return all_reduce_.price().send(std::min(message_gbps(), message_network_gbps()), message, rounds);
  }

  // What each of those for other nodes gets of the cards.
  double message_network_gbps() const {
    const int here = fabric_.ranks_per_node, away = fabric_.ranks - here;
    return away > 0 ? all_reduce_.price().network_gbps() / (here * away) : HUGE_VAL;
  }

  // As if nothing but the network could hold it up.
  NcclFabric network_alone() const {
    NcclFabric fabric = fabric_;
    fabric.ranks_per_node = 1;
    return fabric;
  }

  AllReduceEstimate estimate_all_to_all(Bytes bytes) const {
    AllReduceEstimate estimate;
    set_time(estimate, all_to_all(bytes), all_reduce_.doubt(bytes).width());
    set_words(estimate, fabric_, share_of(bytes));
    estimate.narrowest = message_network_gbps() < message_gbps()
                             ? find_narrowest(network_alone(), all_reduce_.price(), machine_.topology)
                             : message_narrowest_;
    estimate.bus_gbps =
        static_cast<double>(bytes) / estimate.time * bus_factor(Collective::all_to_all, fabric_.ranks) / 1e9;
    return estimate;
  }

  Bytes share_of(Bytes bytes) const { return std::max<Bytes>(1, bytes / static_cast<Bytes>(fabric_.ranks)); }

  // Of the slowest message of an all-to-all inside the node. Found when first asked for: there are many.
  double message_gbps() const {
    std::call_once(messages_known_, [&] {
      Messages messages(machine_, static_cast<std::size_t>(fabric_.ranks), fabric_.settings);
      messages.add_all(group_.gpus);
      messages.own_so_far();
      for (const auto& others : group_.others) messages.add_all(others);
      message_gbps_ = messages.slowest_of_own(all_reduce_.calibration().values);
      message_narrowest_ = messages.narrowest_of_own(all_reduce_.calibration().values);
    });
    return message_gbps_;
  }

  const Machine& machine_;
  GroupFabric group_;
  const NcclFabric& fabric_;
  NcclPredictor all_reduce_, around_, along_;
  Narrowest narrowest_;
  mutable std::once_flag messages_known_;
  mutable double message_gbps_ = 0;
  mutable Narrowest message_narrowest_;
};

GroupModel::GroupModel(const Machine& machine, const RankGroups& groups, const Calibration& calibration,
                       const NcclSettings& settings) {
  const Calibration own = own_calibration(machine, calibration);
  for (GroupFabric& group : group_fabrics(machine, groups, settings)) {
    auto kind = std::make_unique<Kind>(machine, std::move(group), own);
    if (std::ranges::none_of(kinds_, [&](const auto& other) { return other->is_like(*kind); }))
      kinds_.push_back(std::move(kind));
  }
  if (kinds_.empty()) throw ConfigError("no group of ranks is given");
}

GroupModel::~GroupModel() = default;
GroupModel::GroupModel(GroupModel&&) noexcept = default;

const GroupModel::Kind& GroupModel::slowest(Collective kind, Bytes bytes) const {
  return **std::ranges::max_element(kinds_, {}, [&](const auto& one) { return one->time(kind, bytes); });
}

Seconds GroupModel::time(Collective kind, Bytes bytes) const {
  return slowest(kind, bytes).time(kind, bytes);
}

AllReduceEstimate GroupModel::estimate(Collective kind, Bytes bytes) const {
  return slowest(kind, bytes).estimate(kind, bytes);
}

}  // namespace gradwire
