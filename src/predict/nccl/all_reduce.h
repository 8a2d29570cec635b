// How long NCCL takes for a collective on a machine, which algorithm and protocol it picks, which way the
// data goes and which link holds it up. Rules (docs/nccl-model.md) give a first time; a calibration, fitted
// to measured sweeps and kept apart from the rules, corrects it by class of machine and by size.
//
// Making a model walks the machine's links once (some 10 us); after that each call costs about a microsecond,
// is const and may be made from any thread.
#pragma once

#include <string>

#include "base/units.h"
#include "predict/calibration/calibration.h"
#include "predict/nccl/fabric.h"
#include "predict/nccl/settings.h"
#include "predict/nccl/terms.h"
#include "topo/machine.h"

namespace gradwire {

struct AllReduceEstimate {
  Seconds time = 0;
  double bus_gbps = 0;    // bytes / time x 2(n-1)/n for an all-reduce, as nccl-tests prints it
  std::string algorithm;  // "Ring", "Tree", "NVLS", "NVLSTree"; "none" for one rank
  std::string protocol;   // "LL", "LL128", "Simple"
  std::string path;       // "NVLink", "PCIe peer to peer", "host memory", "NVLink + InfiniBand"
  int channels = 0;
  std::string narrowest_link;  // "GPU1 > CPU0 (PCIe 4 x16), crossed twice"
  double relative_error = 0;   // to expect for this class and size, from cross-validation
};

class NcclModel {
 public:
  // All GPUs of the machine take part; see with_gpus() in topo/machine.h.
  explicit NcclModel(const Machine&, const Calibration& = default_calibration(), const NcclSettings& = {});

  AllReduceEstimate all_reduce(Bytes buffer_of_one_rank) const;
  AllReduceEstimate reduce_scatter(Bytes buffer_of_all_ranks) const;
  AllReduceEstimate all_gather(Bytes buffer_of_all_ranks) const;
  AllReduceEstimate broadcast(Bytes) const;
  Seconds all_reduce_time(Bytes) const;  // the same time without the words: no allocation

  const NcclFabric& fabric() const { return fabric_; }

 private:
  AllReduceEstimate estimate(Bytes, double share, double bus_factor) const;

  NcclFabric fabric_;
  NcclSettings settings_;
  NcclTerms terms_;
  Correction correction_;
  ExpectedError error_;
  std::string path_, narrowest_;
};

}  // namespace gradwire
