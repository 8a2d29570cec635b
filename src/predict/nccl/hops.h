// From GPU to GPU along a ring: whether NCCL goes straight or through host memory there, and which resources
// of the machine a byte then crosses.
#pragma once

#include <span>
#include <vector>

#include "predict/nccl/ring.h"
#include "topo/rates.h"

namespace gradwire {

struct RingHop {
  DeviceId from = kNoDevice;
  Path path;
  bool nvlink = false, host = false;
  bool root = false;  // peer access over a root complex that cuts packets smaller
  bool flow = false;  // by TCP instead of shared memory
};

struct HopSet {
  std::vector<RingHop> hops;
  bool any_nvlink = false, any_host = false, any_sys = false;
};

// The hops of the ring that visits the GPUs in this order. NCCL goes straight where peer access is possible and
// near enough for its version and the processor's maker (paths.cc, ncclTopoCheckP2p), else through host memory.
HopSet hops_of(const Machine&, const std::vector<DeviceId>& order, const NcclSettings&);

// One by one, for a communicator of so many ranks. One thread; machine and settings must outlive it.
class HopFinder {
 public:
  HopFinder(const Machine& machine, std::size_t ranks, const NcclSettings&);
  RingHop find(DeviceId from, DeviceId to);

 private:
  const Machine& machine_;
  const NcclSettings& settings_;
  Routes routes_;
  PathClass level_;
};

// What the graph search counts on for these rings together, each with an equal share.
double believed_gbps(const Machine&, const std::vector<const HopSet*>& rings, const NcclSettings&);

// Adds a ring's route to `rings`, and the resources it is the first to cross.
void add_route(const Machine&, std::span<const RingHop>, NodeRings& rings);

// Of its processors, as far as they are known.
const MakerRules& rules_of(const Machine&);

// The two directions of a cable share an id: that of the lower link.
LinkId cable_of(const Topology&, LinkId);

}  // namespace gradwire
