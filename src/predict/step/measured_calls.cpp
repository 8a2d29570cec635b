#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "predict/backends/backends.h"
#include "predict/step/replay.h"

namespace gradwire {
namespace {

constexpr std::string_view kUserSuffix = ":user";

bool is_of_user_memory(const std::string& backend) { return backend.ends_with(kUserSuffix); }

std::string without_user(std::string backend) {
  if (is_of_user_memory(backend)) backend.resize(backend.size() - kUserSuffix.size());
  return backend;
}

std::string the_only_backend(const std::vector<Sweep>& sweeps) {
  std::set<std::string> names;
  for (const auto& sweep : sweeps) names.insert(without_user(sweep.backend));
  if (names.size() == 1) return *names.begin();
  throw ConfigError(fmt::format("the wires of {} were measured: choose one with --backend",
                                join(std::vector<std::string>(names.begin(), names.end()), ", ")));
}

Collective measured_kind(Collective kind) { return kind == Collective::recv ? Collective::send : kind; }

}  // namespace

MeasuredCalls::MeasuredCalls(const std::vector<Sweep>& sweeps, std::string backend)
    : backend_(backend.empty() ? the_only_backend(sweeps) : std::move(backend)) {
  for (const auto& sweep : sweeps)
    if (without_user(sweep.backend) == backend_)
      measured_.try_emplace({sweep.collective, sweep.ranks, is_of_user_memory(sweep.backend)},
                            Measured{fit_curve(sweep.samples), fit_curve(sweep.processor)});
}

// Ranks that share memory meet over what they see anyway, as they do over the least bytes.
CallCost MeasuredCalls::of(const RehearsedCall& call, int ranks, Bytes bytes) const {
  if (call.viewed && backend_ == to_string(Backend::shm)) bytes = 1;
  const auto kind = measured_kind(call.kind);
  auto found = measured_.find({kind, ranks, call.user_memory});
  // Most backends do not care whose memory it is.
  if (found == measured_.end()) found = measured_.find({kind, ranks, !call.user_memory});
  if (found == measured_.end())
    throw ConfigError(
        fmt::format("{} of {} ranks over {} was not measured: write `gradwire bench {} -n {} -b {} --json`",
                    name_of(kind), ranks, backend_, name_of(kind), ranks, backend_));
  const Seconds time = found->second.time.at(bytes);
  return {time, time > 0 ? std::clamp(found->second.processor.at(bytes) / time, 0.0, 1.0) : 0};
}

}  // namespace gradwire
