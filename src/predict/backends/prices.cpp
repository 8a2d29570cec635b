#include "predict/backends/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "predict/backends/own.h"
#include "predict/nccl/collective.h"

namespace gradwire {
namespace {

OwnCosts own_costs(const MeasuredCosts& costs) try {
  return own_costs_from_bench(costs.text);
} catch (const ConfigError& error) {
  throw ConfigError(fmt::format("--costs {}: {}", costs.file, error.what()));
}

const char* carrier_of(Backend backend) {
  return backend == Backend::shm ? "memory" : backend == Backend::shm_tcp ? "shm+TCP" : "TCP";
}

// Prices all-reduces of one backend other than NCCL: ours by their programs, the others by two constants.
class HostBackend {
 public:
  HostBackend(const MeasuredCosts& costs, Backend backend) : backend_(backend) {
    if (is_own(backend))
      own_ = costs.given() ? own_costs(costs) : default_own_costs();
    else
      cost_ = costs.given() ? backend_cost_from_bench(costs.text, backend, costs.file)
                            : default_backend_cost(backend);
  }

  AllReduceEstimate all_reduce(const Machine& machine, Bytes bytes) const {
    const auto priced =
        own_ ? own_all_reduce(backend_, *own_, machine, bytes) : backend_all_reduce(cost_, machine, bytes);
    AllReduceEstimate estimate;
    estimate.time = priced.time;
    estimate.algorithm = priced.algorithm;
    estimate.protocol = carrier_of(backend_);
    estimate.way = way_through_host(machine);
    estimate.narrowest = held_by_host(backend_, priced.network_bound);
    estimate.relative_error = priced.relative_error;
    estimate.low = priced.time * (1 - priced.relative_error);
    estimate.high = priced.time * (1 + priced.relative_error);
    return estimate;
  }

 private:
  Backend backend_;
  std::optional<OwnCosts> own_;
  BackendCost cost_;
};

// Prices what NCCL does: a collective of all GPUs, or messages between some.
class NcclPriced {
 public:
  NcclPriced(const PriceQuestion& question, const Machine& machine)
      : kind_(question.collective), ranks_(static_cast<int>(machine.gpus.size())) {
    if (const auto pairs = message_pairs(kind_, ranks_); !pairs.empty())
      messages_.emplace(machine, pairs, default_calibration(), question.nccl);
    else
      group_.emplace(machine, all_ranks(machine), default_calibration(), question.nccl);
  }

  AllReduceEstimate estimate(Bytes bytes) const {
    if (group_) return group_->estimate(kind_, bytes);
    const bool in_parts = kind_ == Collective::gather || kind_ == Collective::scatter;
    return messages_->estimate(in_parts ? std::max<Bytes>(1, bytes / static_cast<Bytes>(ranks_)) : bytes);
  }

 private:
  Collective kind_;
  int ranks_;
  std::optional<GroupModel> group_;
  std::optional<TransferModel> messages_;
};

}  // namespace

std::vector<Price> price_bench(const PriceQuestion& question, const Machine& machine) {
  std::vector<Price> prices;
  const auto add = [&](Backend backend, const auto& estimate) {
    for (const Bytes bytes : question.sizes) prices.push_back({backend, bytes, estimate(bytes)});
  };
  for (const Backend backend : question.backends) {
    if (backend == Backend::nccl) {
      const NcclPriced nccl(question, machine);
      add(backend, [&](Bytes bytes) { return nccl.estimate(bytes); });
      continue;
    }
    if (question.collective != Collective::all_reduce)
      throw ConfigError(fmt::format("{} with --on: only all_reduce has a model", to_string(backend)));
    const HostBackend host(question.costs, backend);
    add(backend, [&](Bytes bytes) { return host.all_reduce(machine, bytes); });
  }
  return prices;
}

}  // namespace gradwire
