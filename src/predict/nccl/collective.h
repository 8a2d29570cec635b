// What any collective costs over any GPUs of a machine, and what messages from GPU to GPU cost: the groups and pairs
// given run at once and share the machine's slots, switches, memories, socket links and network cards. The same
// physics and constants as for an all-reduce of all GPUs (docs/nccl-model.md), which is the case of one group.
//
//   GroupModel pairs(machine, strided_groups(8, 2));         // four tensor-parallel pairs at once: 0 1, 2 3, 4 5, 6 7
//   GroupModel replicas(machine, strided_groups(8, 4, 2));   // two data-parallel groups of four: 0 2 4 6, 1 3 5 7
//   pairs.time(Collective::all_gather, bytes); TransferModel(machine, {{0, 4}, {1, 5}}).time(bytes);
//
// `bytes` as nccl-tests counts them: the buffer of a rank for all_reduce, broadcast, reduce and all_to_all (what a rank
// sends in all); the buffer of all ranks together for all_gather and reduce_scatter; a message for a transfer. Times
// are those of the slowest group or pair. Making a model costs some 20 us a distinct group, asking it about one; the
// machine must outlive it. Const functions may run on any thread. Bad ranks throw ConfigError, as does a barrier.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/collective.h"
#include "predict/nccl/all_reduce.h"
#include "predict/nccl/groups.h"

namespace gradwire {

class GroupModel {
 public:
  GroupModel(const Machine&, const RankGroups&, const Calibration& = default_calibration(),
             const NcclSettings& = {});
  ~GroupModel();
  GroupModel(GroupModel&&) noexcept;

  Seconds time(Collective, Bytes) const;
  AllReduceEstimate estimate(Collective, Bytes) const;

 private:
  class Kind;
  const Kind& slowest(Collective, Bytes) const;
  std::vector<std::unique_ptr<Kind>> kinds_;  // of groups that differ
};

using RankPairs = std::vector<std::pair<int, int>>;  // from, to: indices of Machine::gpus

// The messages that one of these calls is: send and recv from rank 0 to rank 1, exchange from each to the next, gather to
// rank 0 and scatter from it. Empty for the others.
RankPairs message_pairs(Collective, int ranks);

class TransferModel {
 public:
  TransferModel(const Machine&, const RankPairs&, const Calibration& = default_calibration(),
                const NcclSettings& = {});
  ~TransferModel();
  TransferModel(TransferModel&&) noexcept;

  Seconds time(Bytes) const;
  AllReduceEstimate estimate(Bytes) const;

 private:
  struct Kind;
  const Kind& slowest(Bytes) const;
  std::vector<std::unique_ptr<Kind>> kinds_;
};

}  // namespace gradwire
