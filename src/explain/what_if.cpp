#include "explain/what_if.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "explain/analysis.h"
#include "explain/traced_run.h"
#include "predict/step/on_machine.h"
#include "topo/build/box_name.h"

namespace gradwire {
namespace {

std::string missing_gpu(const CaseFile& given) {
  const auto& ranks = given.analysis->ranks;
  if (!ranks.empty() && ranks[0].summary.on_gpu) return "the trace names no GPU that Gradwire knows";
  return "this run computes on processors: links of GPUs have no part in it";
}

// Bridges join two GPUs (four on some boards); more NVLink means a switch.
std::string machine_name(BoxLink link, const std::string& gpu, int gpus) {
  const bool switched = link == BoxLink::nvlink && gpus > 4;
  return fmt::format("{}x-{}-{}", gpus, gpu, to_string(switched ? BoxLink::nvswitch : link));
}

Machine machine_for(const CaseFile& given, const std::string& word) {
  const auto link = find_box_link(word);
  if (!link) return find_machine(word);
  const std::string gpu = gpu_named(given.files);
  if (gpu.empty()) throw ConfigError(missing_gpu(given));
  const int gpus = given.analysis->world.value_or(1);
  if (gpus < 2) throw ConfigError("one rank has nobody to talk to; give --what-if a machine");
  if (gpus > 16) throw ConfigError(fmt::format("{} ranks are more than one node has; name a machine", gpus));
  return find_machine(machine_name(*link, gpu, gpus));
}

TracedModel traced_model(const CaseFile& given) {
  return recorded_run(given.files.profiles, *given.analysis);
}

// As `compare` asks for it, of the same trace.
StepEstimate estimate_on(const RecordedModel& recorded, const Machine& machine) {
  StepOptions options = step_options({}, recorded.workload);
  options.anchor = recorded.anchor;
  return estimate_step(recorded.workload, machine, options);
}

// What transfer adds to computing there in a step as the trace marks it: what nothing hides, and what it slows beyond what it
// slowed already.
Seconds added_by_transfer(const TracedModel& traced, const StepEstimate& estimate) {
  const Breakdown& own = *traced.recorded.anchor.recorded;
  return (estimate.step - (own.step() - own.comm_exposed)) / traced.micro_batches;
}

// Where the machine it ran on is known; its transfer was no less than the model has it there, up to all that was exposed.
std::optional<Seconds> find_own_transfer(const CaseFile& given) {
  const Machine* machine = given.find_rated();
  if (machine == nullptr || given.files.profiles.empty()) return {};
  if (static_cast<int>(machine->gpus.size()) != given.analysis->world) return {};
  try {
    const TracedModel traced = traced_model(given);
    return added_by_transfer(traced, estimate_on(traced.recorded, *machine));
  } catch (const ConfigError&) {
    return {};
  }
}

// Replaces the transfer of the measured step. `sure` of it was transfer whatever the ranks that are not here did.
WhatIf replaced(const CaseFile& given, const WhatIfs& measured, Seconds by, Seconds sure) {
  const Seconds transfer = given.analysis->exposed_transfer;
  WhatIf row;
  row.step = measured.step - transfer + by;
  row.exposed = measured.exposed - transfer + by;
  row.most = given.analysis->waiting_known ? row.step : measured.step - std::min(transfer, sure) + by;
  return row;
}

// Rarer all-reduces for the same batches expose less, and weights are updated as rarely; waiting for a slower rank stays.
void add_accumulation(const CaseFile& given, WhatIfs& result) {
  if (result.exposed < 0.01 * result.step) return;
  const Seconds transfer = given.analysis->exposed_transfer, update = mean_optimizer(*given.analysis);
  const Seconds sure =
      given.analysis->waiting_known ? transfer : std::min(transfer, find_own_transfer(given).value_or(0));
  for (const int times : {2, 4}) {
    const auto step_of_each = [&](Seconds once) {
      return accumulated_step(result.step - once, once, times) / times;
    };
    WhatIf row;
    row.what = fmt::format("accumulate {}", times);
    row.step = step_of_each(transfer + update);
    row.exposed = result.exposed - transfer + transfer / times;
    row.most = step_of_each(sure + update);
    result.rows.push_back(std::move(row));
  }
}

void add_link(const CaseFile& given, const std::string& word, WhatIfs& result) {
  try {
    const Machine machine = machine_for(given, word);
    const TracedModel traced = traced_model(given);
    const StepEstimate estimate = estimate_on(traced.recorded, machine);
    const Seconds added = added_by_transfer(traced, estimate);
    WhatIf row = replaced(given, result, added, find_own_transfer(given).value_or(added));
    row.exposed += estimate.parts.comm_exposed / traced.micro_batches - added;  // the rest slows computing
    row.what = word;
    row.on = machine.name;
    row.relative_error = estimate.relative_error;
    result.rows.push_back(std::move(row));
  } catch (const ConfigError& error) {
    if (!find_box_link(word)) throw;
    const std::string why = error.what();
    if (std::find(result.missing.begin(), result.missing.end(), why) == result.missing.end())
      result.missing.push_back(why);
  }
}

// Mending it gives them peer access, which not every machine has.
bool lacks_peers(const Finding& finding) {
  return finding.apart == Apart::turned_off || finding.apart == Apart::refused ||
         finding.apart == Apart::seen;
}

}  // namespace

std::string gpu_named(const Gathered& files) {
  std::vector<std::string> names;
  for (const Profile& profile : files.profiles)
    names.insert(names.end(), profile.gpus.begin(), profile.gpus.end());
  for (const NcclTestTable& table : files.tables) names.push_back(table.gpu);
  for (const NvlinkReport& report : files.nvlinks)
    for (const auto& gpu : report.gpus) names.push_back(gpu.name);
  for (const std::string& name : names)
    if (const auto gpu = find_gpu_by_name(name)) return gpu->id;
  return {};
}

WhatIfs what_if(const CaseFile& given, const std::vector<std::string>& links) {
  WhatIfs result;
  if (!given.analysis || given.analysis->ranks.empty()) return result;
  result.step = mean_step(*given.analysis);
  result.exposed = mean_exposed(*given.analysis);
  result.ranks_here = static_cast<int>(given.analysis->ranks.size());
  result.world = std::max(given.analysis->world.value_or(1), result.ranks_here);
  if (given.files.profiles.empty() && !links.empty())
    result.missing.emplace_back("a trace of gradwire goes to gradwire compare TRACE --on A --on B");
  else
    for (const std::string& word : links) add_link(given, word, result);
  add_accumulation(given, result);
  return result;
}

std::optional<Seconds> find_gain(const CaseFile& given, const Machine& machine) {
  if (!given.analysis || given.files.profiles.empty() || !given.analysis->ranks[0].summary.on_gpu)
    return std::nullopt;
  try {
    const TracedModel traced = traced_model(given);
    const Seconds there = estimate_on(traced.recorded, machine).parts.comm_exposed / traced.micro_batches;
    return std::max(0.0, given.analysis->exposed_transfer - there);
  } catch (const ConfigError&) {
    return std::nullopt;  // no bucket of known size, or no such GPUs there
  }
}

bool goes_through_host(const Machine& machine) {
  const std::size_t here =
      std::min<std::size_t>(machine.gpus.size(), static_cast<std::size_t>(machine.gpus_per_node()));
  for (std::size_t i = 0; i + 1 < here; ++i)
    if (find_path(machine, machine.gpus[i], machine.gpus[i + 1]).through_host) return true;
  return false;
}

void price_findings(const CaseFile& given, std::vector<Finding>& findings) {
  const auto unpriced = [](const Finding& one) { return one.apart != Apart::no && !one.cost_ms; };
  if (!given.machine || std::none_of(findings.begin(), findings.end(), unpriced)) return;
  const auto gain = find_gain(given, *given.machine);
  const bool no_better = goes_through_host(*given.machine);
  for (Finding& finding : findings) {
    if (!unpriced(finding)) continue;
    if (no_better && lacks_peers(finding)) {
      finding.cost_note =
          fmt::format("GPUs of {} talk through host memory too; --on names a machine to compare with",
                      given.machine->name);
    } else if (gain) {
      finding.cost_ms = *gain * 1e3;
      finding.of_communication = true;
      finding.cost_note = fmt::format("against {} by the model of NCCL", given.machine->name);
    }
  }
}

}  // namespace gradwire
