#include "explain/expected_rate.h"

#include "base/error.h"
#include "predict/nccl/all_reduce.h"

namespace gradwire {
namespace {

std::optional<AllReduceEstimate> find_estimate(const NcclModel& model, std::string_view collective,
                                               Bytes bytes) {
  if (collective == "all_reduce") return model.all_reduce(bytes);
  if (collective == "reduce_scatter") return model.reduce_scatter(bytes);
  if (collective == "all_gather") return model.all_gather(bytes);
  if (collective == "broadcast") return model.broadcast(bytes);
  return std::nullopt;
}

}  // namespace

std::optional<ExpectedRate> find_expected_rate(const Machine& machine, std::string_view collective,
                                               Bytes bytes, int ranks) {
  const int there = static_cast<int>(machine.gpus.size());
  if (bytes == 0 || ranks < 2 || ranks > there) return std::nullopt;
  try {
    const NcclModel model(ranks < there ? with_gpus(machine, ranks) : machine);
    const auto estimate = find_estimate(model, collective, bytes);
    if (!estimate) return std::nullopt;
    return ExpectedRate{estimate->bus_gbps, estimate->relative_error, estimate->time};
  } catch (const ConfigError&) {
    return std::nullopt;  // some of several nodes, a machine without GPUs: no rate, and no reason to stop
  }
}

}  // namespace gradwire
