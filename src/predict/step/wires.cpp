#include "predict/step/wires.h"

namespace gradwire {

std::function<Seconds(Bytes)> alpha_beta(int ranks, double bytes_per_s, Seconds latency) {
  const double trips = ranks > 1 ? 2.0 * (ranks - 1) / ranks : 0;
  return [=](Bytes bytes) { return ranks > 1 ? latency + trips * double(bytes) / bytes_per_s : 0.0; };
}

}  // namespace gradwire
