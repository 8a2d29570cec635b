#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/compare_question.h"
#include "cli/flags.h"
#include "cli/usage.h"
#include "cli/verbs.h"
#include "predict/workload/catalog.h"
#include "report/compare/compare.h"
#include "report/page/comparison.h"
#include "report/page/topology.h"
#include "report/plan/plan.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kCompareExample = R"(
MODEL is a built-in one (gradwire list models), a YAML file as
presets/models/example.yaml, or a trace: of `gradwire train`, or of
torch.profiler (or a folder with those of all ranks), of one GPU too if it was
recorded with shapes or --parameters says how large the model is. The answer
compares the best connected machine with the worst, of those with equal GPUs if
there are such; with one --on it says what a link without limits would change
there. --sweep draws the answer along an axis. --measured FILE is of the first
--on, 2=FILE of the second: it moves that machine's links alone. With --tp,
--pp, --dp, --shard, --recompute or --micro-batch it is split as by `plan`.

Examples:
  gradwire compare gpt2 --on 2x-titan-rtx-nvlink --on 2x-titan-rtx-pcie
  gradwire compare resnet50 --on dgx-a100 --on 8x-a100-pcie --precision fp16 \
      --step-ms 120
  gradwire compare bert-large --on '2*dgx-h100@ndr' --on '2*dgx-h100@100gbe' \
      --sweep gpus=1..64
  gradwire compare vgg16 --on 4x-rtx3090-pcie --sweep link=1..200
  gradwire compare gpt2 --on 2x-rtx3090-nvlink --on 2x-rtx3090-pcie \
      --measured 2=nccl-tests.txt --verbose
  gradwire compare llama-7b --on dgx-a100 --on 8x-a100-pcie --tp 8
  gradwire compare one_gpu.json --parameters 124e6 --on 2x-rtx3090-nvlink \
      --on 2x-rtx3090-pcie
)";

struct CompareFlags {
  std::string model, sweep, html;
  std::vector<std::string> on, measured;
  StepFlags step;
  PlanSizes sizes;
  double parameters = 0;
  bool json = false, verbose = false;
  bool precision_stated = false;
};

// What `plan` knows nothing of is refused rather than left out of the answer.
void check_split(const CLI::App& verb) {
  constexpr std::array<std::string_view, 21> kTaken = {
      "model", "on",          "batch",     "accumulate", "sequence", "precision", "measured",
      "json",  "html",        "dp",        "tp",         "pp",       "ep",        "chunks",
      "shard", "micro-batch", "recompute", "offload",    "nccl",     "memory",    "step-ms"};
  for (const CLI::Option* flag : verb.get_options())
    if (flag->count() > 0 && std::ranges::find(kTaken, flag->get_single_name()) == kTaken.end())
      throw ConfigError(fmt::format(
          "--{} does not go with --dp, --tp, --pp, --shard, --recompute or --micro-batch: a model "
          "that is split is priced as by `plan`, which has no such flag",
          flag->get_single_name()));
}

PageData split_page(const PlanQuestion& question, const std::vector<PlannedMachine>& planned, Report report) {
  std::vector<std::string> names;
  for (const auto& one : planned) names.push_back(one.on());
  auto page = plain_page("compare", fmt::format("{} on {}", question.shape.name, join(names, ", ")),
                         std::move(report));
  for (const auto& one : planned)
    page.topologies.push_back(drawn_topology(one.machine, Loads::of_nccl, question.nccl));
  return page;
}

// A model that is split: priced as `plan` does, with what the flags leave open at its best on each machine.
int compare_split(const CompareFlags& flags) {
  PlanQuestion question;
  question.shape = transformer_sizes(flags.model, sequence_of(flags.step));
  question.nccl = nccl_settings(flags.step.nccl);
  apply(flags.sizes, question);
  const int batch =
      flags.step.batch > 0 ? flags.step.batch : load_model(flags.model, sequence_of(flags.step)).batch;
  if (flags.step.step_ms > 0) question.measured = StepOnOneGpu{flags.step.step_ms / 1e3, batch};
  const auto machines = measured_machines(flags.on, flags.measured, question.nccl);
  question.precision_assumed = !flags.precision_stated;
  question.precision =
      question.precision_assumed ? usual_precision(machines) : parse_plan_precision(flags.step.precision);
  std::vector<PlannedMachine> planned;
  for (const auto& machine : machines) {
    question.batch = sequences_of(static_cast<int>(machine.gpus.size()), flags.step.accumulate, batch);
    planned.push_back({machine, make_plans(question, machine, 1)});
  }
  const auto shorter = renamed(planned, without_folders(flags.on));
  Report report = plan_comparison(question, shorter);
  report.data = plan_comparison(question, planned).data;  // programs get the names as they gave them
  show(report, flags.json);
  if (!flags.html.empty()) write_html(flags.html, split_page(question, shorter, std::move(report)));
  return 0;
}

// Programs get the names as they gave them; people get files without their folders.
Compared for_people(Asked asked, const CompareFlags& flags, Compared as_given) {
  const auto shorter = without_folders(flags.on);
  if (shorter == flags.on) return as_given;
  for (std::size_t i = 0; i < shorter.size(); ++i) asked.machines[i].name = shorter[i];
  Compared compared = compare_as_asked(asked);
  compared.report.data = std::move(as_given.report.data);
  return compared;
}

int run_compare(const CompareFlags& flags) {
  if (flags.sizes.any()) return compare_split(flags);
  const auto question = question_of(flags.model, flags.step, flags.parameters, flags.precision_stated);
  Asked asked{question.workload, question.options, question.premise, question.warning, {},
              flags.sweep,       flags.verbose};
  const FilesRead files;
  std::vector<AskedMachine> on;
  for (const auto& name : flags.on) {
    asked.machines.push_back(find_machine(name, files));
    asked.machines.back().name = name;
    check_computes(asked.machines.back(), asked.options);
    const std::string text = files.take();
    on.push_back({name, text.empty() ? std::nullopt : std::optional(text)});
  }
  apply_measured(asked.machines, flags.measured, asked.options.nccl);
  if (question.run)
    for (const std::string& remark : remarks_on(*question.run, asked.workload, asked.options, asked.machines))
      asked.warning += (asked.warning.empty() ? "" : "; ") + remark;
  const Compared as_given = compare_as_asked(asked);
  show((flags.json ? as_given : for_people(asked, flags, as_given)).report, flags.json);
  if (flags.html.empty()) return 0;
  asked.verbose = true;
  PageData page = comparison_page(for_people(asked, flags, compare_as_asked(asked)));
  // The panel knows nothing of measured files: it would answer another question.
  if (flags.measured.empty()) page.question = page_question(flags.model, question, flags.step, on);
  write_html(flags.html, std::move(page));
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
  add_plan_sizes(*verb, flags->sizes);
  verb->add_option("-b,--backend", flags->step.backend,
                   "who joins the gradients: nccl; on hosts gloo mpi tcp shm shm+tcp")
      ->capture_default_str();
  verb->add_option("--parameters", flags->parameters,
                   "of the model, where a trace of one GPU has no shapes: 124e6")
      ->check(within(1, 1e13));
  verb->add_option("--sweep", flags->sweep, "gpus=1..64, batch=8,32,128 or link=1..400 (GB/s)");
  add_measured_flag(*verb, flags->measured);
  verb->add_flag("--verbose", flags->verbose,
                 "also how sure that is and why, what holds up each machine, all remedies");
  verb->add_flag("--json", flags->json, "print one JSON object and nothing else");
  // Its price was another one than that of --shard 1.
  verb->add_flag_callback(
          "--zero1",
          [] {
            throw ConfigError(
                "--zero1 is gone: --shard 1 splits the optimizer's state; set it against --shard 0");
          })
      ->group("");
  add_html_flag(*verb, flags->html);
  verb->footer(kCompareExample);
  verb->callback([flags, verb, &exit_code] {
    if (flags->sizes.any()) check_split(*verb);
    flags->precision_stated = verb->count("--precision") > 0;
    exit_code = run_compare(*flags);
  });
}

}  // namespace gradwire
