// What a layout's collectives cost on a machine: a model for each kind of group of the mesh, made when it is first
// asked for and kept. Groups of a kind run at once, as they do in training, and share slots, switches and network
// cards. One thread; the machine must outlive it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "predict/nccl/collective.h"
#include "topo/machine.h"

namespace gradwire {

class GroupWires {
 public:
  // `settings`: what the environment tells NCCL.
  explicit GroupWires(const Machine& machine, const NcclSettings& settings = {})
      : machine_(machine), settings_(settings) {}

  // Of groups of `size` ranks, `stride` apart, over `ranks` GPUs; 0 for one rank. `bytes` as GroupModel counts.
  Seconds time(Collective, int size, int stride, double bytes);
  // A message from each rank to the one `stride` further on.
  Seconds transfer(int stride, double bytes);

  // Of large buffers: which way they go ("NVLink + InfiniBand") and how far the time may be off.
  AllReduceEstimate large(int size, int stride);
  AllReduceEstimate large_message(int stride);
  const Machine& machine() const { return machine_; }

 private:
  const GroupModel& model(int size, int stride);
  const TransferModel& messages(int stride);

  const Machine& machine_;
  NcclSettings settings_;
  std::map<std::pair<int, int>, std::unique_ptr<GroupModel>> groups_;
  std::map<int, std::unique_ptr<TransferModel>> transfers_;
  std::map<std::tuple<int, int, int, Bytes>, Seconds> times_;
};

}  // namespace gradwire
