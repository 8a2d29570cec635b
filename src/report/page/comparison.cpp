#include "report/page/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/version.h"
#include "predict/compare/sweep.h"
#include "predict/workload/catalog.h"
#include "report/compare/compare.h"
#include "report/page/timelines.h"
#include "report/page/topology.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr int kRanksDrawn = 2;  // those of a model are alike

std::string title_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const auto& contender : comparison.contenders) names.push_back(contender.machine.name);
  return fmt::format("{} on {}", comparison.workload.name, join(names, ", "));
}

void add_sweep(const Asked& asked, const StepModel& model, Report& report) {
  const SweepSpec spec = parse_sweep(asked.sweep);
  Report over =
      sweep_report(sweep(asked.workload, asked.machines, asked.options, spec, model), spec, asked.workload);
  report.data["sweep"] = over.data;
  report.add(Gap{});
  report.append(std::move(over));
}

std::string machine_link(const NodeSpec& node) {
  if (node.gpus < 2) return "";
  if (node.matrix) return "matrix";
  return node.intra ? std::string(to_string(*node.intra)) : "";
}

// That a link helps stays true, that it does not matter can't be said.
void take_as_least(const std::string& premise, Comparison& comparison) {
  comparison.premise = premise;
  Answer& answer = comparison.answer;
  answer.at_least = true;
  if (answer.verdict == Verdict::helps) return;
  answer.sure = Sure::cant_tell;
  answer.certain = false;
}

}  // namespace

Compared compare_as_asked(const Asked& asked) {
  const StepModel model;
  Compared compared{compare(asked.workload, asked.machines, asked.options, model), {}};
  if (!asked.premise.empty()) take_as_least(asked.premise, compared.comparison);
  auto& warnings = compared.comparison.warnings;
  if (!asked.warning.empty()) warnings.insert(warnings.begin(), asked.warning);
  compared.report = comparison_report(compared.comparison, asked.verbose);
  if (!asked.sweep.empty()) add_sweep(asked, model, compared.report);
  return compared;
}

PageData comparison_page(Compared compared) {
  const auto& options = compared.comparison.options;
  PageData page;
  page.verb = "compare";
  page.title = title_of(compared.comparison);
  page.report = std::move(compared.report);
  for (const Contender& contender : compared.comparison.contenders) {
    const std::string& name = contender.machine.name;
    const auto timeline =
        timeline_of(contender.estimate, "model: " + name, std::min(contender.estimate.ranks, kRanksDrawn));
    page.timelines.push_back(drawn_timeline(timeline, name, Origin::predicted).timeline);
    page.timelines.back().world = contender.estimate.ranks;
    page.topologies.push_back(drawn_topology(
        contender.machine, options.backend == Backend::nccl ? Loads::of_nccl : Loads::none, options.nccl));
  }
  return page;
}

Asked asked_of(const PageQuestion& question) {
  const auto sequence = sequence_of(question.flags);
  Asked asked;
  asked.workload = question.description ? parse_model(*question.description, question.model, sequence)
                                        : load_model(question.model, sequence);
  asked.options = step_options(question.flags, asked.workload);
  if (question.anchor && !asked.options.anchor) asked.options.anchor = question.anchor;
  asked.machines = machines_of(question);
  for (const Machine& machine : asked.machines) check_computes(machine, asked.options);
  asked.sweep = question.sweep;
  return asked;
}

PageData answer_page(const PageQuestion& question) {
  PageData page = comparison_page(compare_as_asked(asked_of(question)));
  page.command = command_of(question);
  page.question = question_json(question);
  return page;
}

Json page_catalog() {
  Json models = Json::array(), machines = Json::array(), gpus = Json::array(), networks = Json::array();
  for (const ModelEntry& model : all_models())
    models.push_back({{"id", model.name},
                      {"name", model.title},
                      {"family", to_string(model.family)},
                      {"parameters", model.parameters},
                      {"default_batch", model.batch},
                      {"unit", model.sample}});
  for (const MachinePreset& machine : all_machines())
    machines.push_back({{"id", machine.node.name},
                        {"name", machine.title},
                        {"gpu", machine.node.gpu},
                        {"gpus", machine.node.gpus * machine.nodes},
                        {"link", machine_link(machine.node)}});
  for (const Gpu& gpu : all_gpus())
    gpus.push_back(
        {{"id", gpu.id}, {"name", gpu.name}, {"nvlinks", gpu.nvlink_links}, {"nvswitch", gpu.nvswitch}});
  for (const NetworkPreset& network : all_networks())
    networks.push_back(
        {{"id", network.spec.name}, {"name", network.title}, {"gbit", *network.spec.gbit_per_nic}});
  return {{"models", models},
          {"machines", machines},
          {"gpus", gpus},
          {"networks", networks},
          {"precisions", {"fp32", "tf32", "fp16", "bf16"}},
          {"compressions", {"none", "fp16", "bf16", "powersgd"}},
          {"version", version()}};
}

}  // namespace gradwire
