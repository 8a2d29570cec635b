// How long NCCL takes for an all-reduce on a machine, which algorithm and protocol it picks, which way the
// data goes and which resource holds it up. The fabric is walked from the machine's links, NCCL's tuner
// chooses, and the choice is priced with the constants of presets/nccl.yaml (docs/nccl-model.md).
// collective.h has the other collectives, and any GPUs of the machine.
//
// Making a model walks the machine's links once (some 20 us); after that each call costs about a microsecond,
// is const and may be made from any thread.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "predict/calibration/constants.h"
#include "predict/nccl/fabric.h"
#include "predict/nccl/narrowest.h"
#include "predict/nccl/predictor.h"
#include "topo/machine.h"

namespace gradwire {

struct AllReduceEstimate {  // or another collective's
  Seconds time = 0;
  Seconds low = 0, high = 0;  // eight of ten measurements should lie between
  double bus_gbps = 0;        // bytes / time x bus_factor(), as nccl-tests prints it
  std::string algorithm;      // "Ring", "Tree", "NVLS", "NVLSTree"; "none" for one rank
  std::string protocol;       // "LL", "LL128", "Simple"
  std::optional<Way> way;     // none for one rank
  bool as_smaller =
      false;  // the time is a smaller buffer's, of the algorithm before: see NcclPredictor::time()
  int channels = 0;
  Narrowest narrowest;
  double relative_error = 0;  // to expect: half the width of that range
  NcclDoubt doubt;            // what that range is made of; empty for messages
};

// The pieces of one: all but what holds it up; its time, with the factor to either side that holds eight of ten. For
// collective.h, which has them of other fabrics.
AllReduceEstimate estimate_of(const NcclFabric&, const NcclPredictor&, Bytes);
void set_time(AllReduceEstimate&, Seconds, double width);

class NcclModel {
 public:
  // All GPUs of the machine take part; see with_gpus() in topo/machine.h.
  explicit NcclModel(const Machine&, const Calibration& = default_calibration(), const NcclSettings& = {});
  NcclModel(const NcclModel&) = delete;
  NcclModel& operator=(const NcclModel&) = delete;

  AllReduceEstimate all_reduce(Bytes buffer_of_one_rank) const;
  Seconds all_reduce_time(Bytes) const;  // the same time without the words: no allocation

  const NcclFabric& fabric() const { return fabric_; }
  const NcclPrice& price() const { return predictor_.price(); }
  const NcclConstants& constants() const { return predictor_.calibration().values; }
  const Narrowest& narrowest() const { return narrowest_; }  // unknown for one rank
  std::vector<ResourceLoad> loads() const;                   // inside a node, narrowest first

 private:
  NcclFabric fabric_;
  NcclPredictor predictor_;
  Narrowest narrowest_;
};

// What an all-reduce of large buffers does to the links of a node: its rings run at the rate that sharing the machine's
// resources gives them (price.h), and each link is used as far as the fullest resource that lies on it. Pure.
struct LinkLoad {
  LinkId cable = -1;       // the lower of its two directions
  double share = 0;        // of what it gives, 0 to 1
  bool narrowest = false;  // it is what AllReduceEstimate::narrowest names
};

// Of the first node, by cable; links that carry nothing are left out. Where thread blocks hold rings up no link is the
// narrowest.
std::vector<LinkLoad> link_loads(const Machine&, const NcclModel&);

}  // namespace gradwire
