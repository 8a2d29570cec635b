#include "report/compare/compare.h"

#include "report/machine_notes.h"
#include "report/narrowest.h"
#include "report/nccl_notes.h"
#include "report/step_chart.h"

namespace gradwire {
namespace {

nlohmann::json estimate_json(const StepEstimate& estimate) {
  return {{"step_ms", estimate.step * 1e3},
          {"samples_per_s", estimate.samples_per_s},
          {"comm_exposed_ms", estimate.parts.comm_exposed * 1e3},
          {"comm_total_ms", estimate.communication * 1e3},
          {"comm_slowdown_ms", estimate.slowdown * 1e3},
          {"comm_cost_ms", estimate.communication_cost() * 1e3},
          {"scaling", estimate.scaling},
          {"gpus", estimate.ranks},
          {"gradient_bytes", estimate.gradient_bytes},
          {"relative_error", estimate.relative_error},
          {"breakdown_ms", breakdown_json(estimate.parts)}};
}

nlohmann::json contender_json(const Contender& contender, const StepOptions& options) {
  auto machine = estimate_json(contender.estimate);
  machine["on"] = contender.machine.name;
  machine["gpu"] = contender.machine.gpu.id;
  machine["narrowest_link"] = to_words(contender.wires.narrowest);
  machine["algorithm"] = contender.wires.algorithm;
  machine["path"] = path_of(contender.wires);
  machine["plain_step_ms"] = contender.plain_step * 1e3;
  machine["assumed"] = all_notes(contender.machine);
  if (options.backend == Backend::nccl)
    for (auto& note : nccl_notes(contender.machine, options.nccl)) machine["assumed"].push_back(note);
  return machine;
}

nlohmann::json effect_json(const Effect& effect) {
  return {{"verdict", name_of(verdict_of(effect))},
          {"certain", is_certain(effect)},
          {"speedup", effect.speedup},
          {"low", effect.low},
          {"high", effect.high}};
}

nlohmann::json answer_json(const std::string& model, const Answer& answer) {
  return {{"verdict", name_of(answer.verdict)},
          {"certain", answer.certain},
          {"sure", name_of(answer.sure)},
          {"at_least", answer.at_least},
          {"speedup", answer.speedup},
          {"low", answer.low},
          {"high", answer.high},
          {"hours_saved_per_day", hours_saved(answer)},
          {"gpu_count", answer.count},
          {"gpu", effect_json(answer.gpu)},
          {"link", effect_json(answer.link)},
          {"reason", reason_of(answer)},
          {"better", answer.better},
          {"worse", answer.worse},
          {"sentence", sentence_of(model, answer)}};
}

}  // namespace

nlohmann::json comparison_json(const Comparison& comparison) {
  auto warnings = warnings_of(comparison);
  if (!comparison.premise.empty()) warnings.insert(warnings.begin(), comparison.premise);
  nlohmann::json machines = nlohmann::json::array(), remedies = nlohmann::json::array(),
                 turns = nlohmann::json::array();
  for (const auto& contender : comparison.contenders)
    machines.push_back(contender_json(contender, comparison.options));
  for (const auto& remedy : comparison.remedies)
    remedies.push_back({{"what", to_words(remedy)}, {"speedup", remedy.speedup}, {"note", note_of(remedy)}});
  for (const auto& turn : comparison.turns)
    turns.push_back({{"what", to_words(turn)},
                     {"verdict", name_of(turn.verdict)},
                     {"speedup", turn.speedup},
                     {"fits", turn.fits}});
  return {{"model", comparison.workload.name},
          {"batch", comparison.options.batch},
          {"answer", answer_json(comparison.workload.name, comparison.answer)},
          {"machines", machines},
          {"remedies", remedies},
          {"remedies_on", comparison.remedies_on},
          {"turns", turns},
          {"warnings", warnings}};
}

nlohmann::json sweep_json(const std::vector<SweepCurve>& curves, const SweepSpec& spec) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& curve : curves) {
    nlohmann::json points = nlohmann::json::array();
    for (const auto& point : curve.points) {
      auto one = estimate_json(point.estimate);
      one[std::string(name_of(spec.axis))] = point.value;
      one["fits"] = point.fits;
      points.push_back(one);
    }
    all.push_back({{"on", curve.on}, {"points", points}});
    if (curve.sizes) all.back()["note"] = why_left_out(curve);
  }
  nlohmann::json sweep = {{"axis", name_of(spec.axis)}, {"curves", all}};
  if (const auto assumed = assumption_of(spec.axis); !assumed.empty()) sweep["assumed"] = assumed;
  return sweep;
}

}  // namespace gradwire
