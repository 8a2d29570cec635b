#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/compare_question.h"
#include "cli/measured_files.h"
#include "cli/verbs.h"
#include "report/compare/compare.h"
#include "report/compare/short_names.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kCompareExample = R"(
MODEL is a built-in one (gradwire list models), a YAML file as
presets/models/example.yaml, or a trace that `gradwire train` wrote. The answer
compares the best connected machine with the worst, of those with equal GPUs if
there are such; with one --on it says what a link without limits would change
there. --sweep draws the answer along an axis. --measured FILE is of the first
--on, 2=FILE of the second: it moves that machine's links alone.

Examples:
  gradwire compare gpt2 --on 2x-titan-rtx-nvlink --on 2x-titan-rtx-pcie
  gradwire compare resnet50 --on dgx-a100 --on 8x-a100-pcie --precision fp16 \
      --step-ms 120
  gradwire compare bert-large --on '2*dgx-h100@ndr' --on '2*dgx-h100@100gbe' \
      --sweep gpus=1..64
  gradwire compare vgg16 --on 4x-rtx3090-pcie --sweep link=1..200
  gradwire compare gpt2 --on 2x-rtx3090-nvlink --on 2x-rtx3090-pcie \
      --measured 2=nccl-tests.txt --verbose
)";

struct CompareFlags {
  std::string model, sweep;
  std::vector<std::string> on, measured;
  StepFlags step;
  bool json = false, verbose = false;
};

// Programs get the names as they gave them; people get files without their folders.
std::vector<Machine> machines_of(const CompareFlags& flags, const StepOptions& options) {
  std::vector<Machine> machines;
  for (const auto& name : flags.on) {
    machines.push_back(find_machine(name));
    machines.back().name = name;
    check_computes(machines.back(), options);
  }
  apply_measured(machines, flags.measured);
  if (flags.json) return machines;
  const auto shorter = without_folders(flags.on);
  for (std::size_t i = 0; i < machines.size(); ++i) machines[i].name = shorter[i];
  return machines;
}

int run_compare(const CompareFlags& flags) {
  const auto question = question_of(flags.model, flags.step);
  const auto machines = machines_of(flags, question.options);
  const StepModel model;
  auto comparison = compare(question.workload, machines, question.options, model);
  if (!question.warning.empty()) comparison.warnings.insert(comparison.warnings.begin(), question.warning);
  std::vector<SweepCurve> curves;
  SweepSpec spec;
  if (!flags.sweep.empty()) {
    spec = parse_sweep(flags.sweep);
    curves = sweep(question.workload, machines, question.options, spec, model);
  }
  Report report = comparison_report(comparison, flags.verbose);
  if (!curves.empty()) {
    Report over = sweep_report(curves, spec, question.workload);
    report.data["sweep"] = over.data;
    report.add(Gap{});
    report.append(std::move(over));
  }
  show(report, flags.json);
  return 0;
}

}  // namespace

void add_compare_verb(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("compare", "the answer: what a machine's links do to a training step");
  auto flags = std::make_shared<CompareFlags>();
  verb->add_option("model", flags->model, "a model, a YAML file, or a trace (.json)")->required();
  verb->add_option("--on", flags->on, "a machine: a preset, a file, N*MACHINE@NETWORK; several times")
      ->required()
      ->take_all();
  add_step_flags(*verb, flags->step);
  verb->add_option("-b,--backend", flags->step.backend,
                   "who joins the gradients: nccl; on hosts gloo mpi tcp shm shm+tcp")
      ->capture_default_str();
  verb->add_option("--sweep", flags->sweep, "gpus=1..64, batch=8,32,128 or link=1..400 (GB/s)");
  add_measured_flag(*verb, flags->measured);
  verb->add_flag("--verbose", flags->verbose,
                 "also how sure that is and why, what holds up each machine, all remedies");
  verb->add_flag("--json", flags->json, "print one JSON object and nothing else");
  verb->footer(kCompareExample);
  verb->callback([flags, &exit_code] { exit_code = run_compare(*flags); });
}

}  // namespace gradwire
