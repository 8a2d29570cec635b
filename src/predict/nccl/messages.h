// Messages from GPU to GPU inside a node, all at once: which way each goes and what it gets of what they share.
#pragma once

#include <utility>
#include <vector>

#include "predict/nccl/all_reduce.h"
#include "predict/nccl/hops.h"
#include "predict/nccl/ring.h"

namespace gradwire {

class Messages {
 public:
  // `ranks` of the communicator; machine and settings must outlive this.
  Messages(const Machine&, std::size_t ranks, const NcclSettings&);

  void add(DeviceId from, DeviceId to);
  // All ordered pairs, as in an all-to-all. Throws ConfigError for more GPUs than any node has.
  void add_all(const std::vector<DeviceId>& gpus);
  void own_so_far();  // what is added from now on is others'

  double slowest_of_own(const NcclConstants&) const;       // GB/s; infinite without any
  Narrowest narrowest_of_own(const NcclConstants&) const;  // what holds that one up; unknown without any

  struct Rated {
    NcclLink link = NcclLink::none;
    double gbps = 0;
  };
  std::vector<Rated> rates(const NcclConstants&) const;  // in the order they were added

 private:
  const Machine& machine_;
  HopFinder hops_;
  NodeRings routes_;
  std::vector<NcclLink> links_;
};

// The words of an estimate for messages of this size.
void set_words(AllReduceEstimate&, const NcclFabric&, Bytes message);

}  // namespace gradwire
