#include "explain/expected_rate.h"

#include "base/error.h"
#include "predict/nccl/collective.h"

namespace gradwire {

std::optional<ExpectedRate> find_expected_rate(const Machine& machine, std::string_view collective,
                                               Bytes bytes, int ranks) {
  const int there = static_cast<int>(machine.gpus.size());
  if (bytes == 0 || ranks < 2 || ranks > there) return std::nullopt;
  try {
    const Machine part = ranks < there ? with_gpus(machine, ranks) : machine;
    const GroupModel model(part, all_ranks(part));
    const AllReduceEstimate estimate = model.estimate(parse_collective(collective), bytes);
    return ExpectedRate{estimate.bus_gbps, estimate.relative_error, estimate.time};
  } catch (const ConfigError&) {
    return std::
        nullopt;  // no collective, some of several nodes, a machine without GPUs: no rate, and no reason to stop
  }
}

}  // namespace gradwire
