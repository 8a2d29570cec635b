#include "predict/step/wires.h"

#include <cmath>

namespace gradwire {

double ratio_spread(const Wires& a, double answer_a, const Wires& b, double answer_b) {
  double sum = 0;
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    const double both = answer_a * a.doubt.by_constant[i] - answer_b * b.doubt.by_constant[i];
    sum += both * both;
  }
  const auto rest = [](const Wires& wires, double answer) {
    const bool nccl = wires.doubt.total() > 0;
    return answer * (nccl ? wires.doubt.rest : wires.relative_error / kEightOfTen);
  };
  const double rest_a = rest(a, answer_a), rest_b = rest(b, answer_b);
  return a.path == b.path ? std::hypot(std::sqrt(sum), rest_a - rest_b)
                          : std::sqrt(sum + rest_a * rest_a + rest_b * rest_b);
}

std::function<Seconds(Bytes)> alpha_beta(int ranks, double bytes_per_s, Seconds latency) {
  const double trips = ranks > 1 ? 2.0 * (ranks - 1) / ranks : 0;
  return [=](Bytes bytes) { return ranks > 1 ? latency + trips * double(bytes) / bytes_per_s : 0.0; };
}

}  // namespace gradwire
