// What NCCL chooses for a size, and what constants make of a fabric: how fast its rings run, which resource holds them up, and how long an
// algorithm with a protocol takes. Making one shares out the resources (some microseconds); a price then costs
// a fraction of one.
//
// A time has a latency L (steps times a hop's), a transfer W (bytes over the rate that sharing gives) and what
// filling the pipeline costs. Chunks small enough to fill it soon pay latency often, large ones late: the best
// chunk costs 2 sqrt(L W) more, and NCCL's fixed ones a share of that, the ramp.
#pragma once

#include "base/collective.h"
#include "base/units.h"
#include "predict/calibration/constants.h"
#include "predict/nccl/fabric.h"

namespace gradwire {

// Which algorithm, protocol and how many channels NCCL's tuner picks for a size: its own cost tables, applied
// to the fabric. Its beliefs decide, whether they are right or not; NcclPrice says how long the choice takes.
struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  int channels = 1;
};

// All but an all-reduce run in rings; `bytes` as in collective.h. Where the environment leaves nothing, a ring or tree.
NcclChoice nccl_choice(const NcclFabric&, Bytes, Collective = Collective::all_reduce);

// Whether the lists of the environment (NCCL_ALGO, NCCL_PROTO) leave something that the fabric has and that has a price.
bool can_obey(const NcclFabric&, Collective);

// Rounds of a ring: an all-reduce goes around twice, the others once.
constexpr int turns_of(Collective kind) { return kind == Collective::all_reduce ? 2 : 1; }

// Thread blocks that a buffer of this size fills with that choice.
int nccl_channels(const NcclFabric&, const NcclChoice&, Bytes);

// Bus bandwidth of the rings inside a node, and the index of the resource that is full first.
struct RingRate {
  double gbps = 0;
  std::size_t narrowest = 0;
};
// `kind`: a broadcast and a reduction leave the hop free that would close the ring.
RingRate ring_rate(const NodeRings&, const NcclConstants&, int sm, Collective kind = Collective::all_reduce);

// What NCCL takes from GPU to GPU for a message of this size.
NcclProtocol send_protocol(Bytes);

// GB/s that a resource gives in all.
double capacity_of(const Resource&, const NcclConstants&, int sm);

// What holds up the way to other nodes: the cards, copies between host memory and them, or the GPUs' slots.
enum class NetworkLimit { cards, copies, slots };

class NcclPrice {
 public:
  // The fabric must outlive this.
  NcclPrice(const NcclFabric&, const NcclConstants&, Collective = Collective::all_reduce);

  // The same with one constant times a factor; sharing is done again only where that constant rates a resource.
  NcclPrice with(std::size_t constant, double factor) const;

  Seconds time(const NcclChoice&, Bytes) const;

  // From GPU to GPU at that rate, in the last of so many rounds of messages.
  Seconds send(double gbps, Bytes, int rounds = 1) const;
  double network_gbps() const { return network_; }  // one way, all cards of a node together
  NetworkLimit network_limit() const { return limit_; }
  const RingRate& rings() const { return rings_; }

 private:
  void rate_network();
  double detour_gbps() const;
  double hop_us(NcclProtocol) const;
  double network_hop_us(NcclProtocol) const;
  double latency_us(const NcclChoice&) const;
  double transfer_us(const NcclChoice&, double bytes) const;
  double ramp(const NcclChoice&) const;
  double unhidden(const NcclChoice&, double transfer_by_latency) const;
  Seconds piped(const NcclChoice&, double latency, double transfer) const;
  double of(NcclConstant one) const { return get(constants_, one); }

  const NcclFabric* fabric_;
  NcclConstants constants_;
  Collective kind_;
  RingRate rings_;
  double network_ = 0, pace_ = 1;
  NetworkLimit limit_ = NetworkLimit::cards;
};

}  // namespace gradwire
