#include "measure/sample.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace gradwire {

void to_json(nlohmann::json& json, const SampleRequest& request) {
  json = {{"collective", static_cast<int>(request.collective)},
          {"dtype", static_cast<int>(request.dtype)},
          {"reduction", static_cast<int>(request.reduction)},
          {"bytes", request.bytes},
          {"calls", request.calls},
          {"check", request.check}};
}

void from_json(const nlohmann::json& json, SampleRequest& request) {
  request.collective = static_cast<Collective>(json.at("collective").get<int>());
  request.dtype = static_cast<DType>(json.at("dtype").get<int>());
  request.reduction = static_cast<Reduction>(json.at("reduction").get<int>());
  json.at("bytes").get_to(request.bytes);
  json.at("calls").get_to(request.calls);
  json.at("check").get_to(request.check);
}

void to_json(nlohmann::json& json, const SampleResult& result) {
  json = {{"per_call", result.per_call},
          {"processor", result.processor},
          {"wrong", result.wrong},
          {"error", result.error}};
}

void from_json(const nlohmann::json& json, SampleResult& result) {
  json.at("per_call").get_to(result.per_call);
  json.at("processor").get_to(result.processor);
  json.at("wrong").get_to(result.wrong);
  json.at("error").get_to(result.error);
}

void add(SampleResult& total, const SampleResult& of_rank) {
  if (!of_rank.error.empty()) throw Error(of_rank.error);
  total.per_call = std::max(total.per_call, of_rank.per_call);
  total.processor += of_rank.processor;
  total.wrong += of_rank.wrong;
}

double algorithm_bandwidth(Bytes bytes, Seconds time) {
  return time > 0 ? static_cast<double>(bytes) / time : 0;
}

double bus_bandwidth(Collective collective, int ranks, Bytes bytes, Seconds time) {
  return bus_factor(collective, ranks) * algorithm_bandwidth(bytes, time);
}

Bytes fitting_size(Collective collective, DType dtype, int ranks, Bytes bytes) {
  const bool in_parts = collective == Collective::reduce_scatter || collective == Collective::all_gather ||
                        collective == Collective::all_to_all || collective == Collective::gather ||
                        collective == Collective::scatter;
  const Bytes unit = size_of(dtype) * (in_parts ? static_cast<Bytes>(ranks) : 1);
  return collective == Collective::barrier ? 0 : bytes / unit * unit;
}

}  // namespace gradwire
