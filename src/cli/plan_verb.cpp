#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/flags.h"
#include "cli/usage.h"
#include "cli/verbs.h"
#include "predict/workload/catalog.h"
#include "report/compare/compare.h"
#include "report/page/topology.h"
#include "report/plan/plan.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kPlanExample = R"(
Prices every way to split MODEL over the machine's GPUs: data (dp), tensor (tp)
and pipeline (pp) parallelism, what is sharded along dp (0 nothing, 1 optimizer
state, 2 gradients too, 3 parameters too), micro-batches, recomputation. What
fits comes first, the fastest in front; where nothing fits it says what would.
A flag that fixes a size leaves the others to be searched. A model of your own
is a YAML file with its sizes under `transformer`: presets/models/example.yaml.

Examples:
  gradwire plan llama-70b --on '4*dgx-h100@ndr' --batch 256
  gradwire plan llama-7b --on 2x-rtx3090-nvlink --on 2x-rtx3090-pcie
  gradwire plan gpt3-175b --on '16*dgx-a100@8x-hdr' --tp 8 --json
)";

struct PlanFlags {
  std::string model, precision, html;
  std::vector<std::string> on, measured;
  std::map<std::string, std::string> nccl;  // its variables
  int batch = 0, sequence = 0, most = 8;
  double step_ms = 0;
  PlanSizes sizes;
  bool json = false;
};

PlanQuestion question_from(const PlanFlags& flags) {
  PlanQuestion question;
  question.shape =
      transformer_sizes(flags.model, flags.sequence == 0 ? std::nullopt : std::optional(flags.sequence));
  question.batch = flags.batch;
  question.nccl = nccl_settings(flags.nccl);
  apply(flags.sizes, question);
  if (flags.step_ms > 0)
    question.measured = StepOnOneGpu{
        flags.step_ms / 1e3, question.micro_batch ? *question.micro_batch : load_model(flags.model).batch};
  return question;
}

int run_plan(const PlanFlags& flags) {
  auto question = question_from(flags);
  std::vector<PlannedMachine> planned;
  question.precision_assumed = flags.precision.empty();
  for (const auto& machine : measured_machines(flags.on, flags.measured, question.nccl)) {
    question.precision =
        question.precision_assumed ? usual_precision(machine.gpu) : parse_plan_precision(flags.precision);
    planned.push_back({machine, make_plans(question, machine, flags.most)});
  }
  Report report = plan_report(question, renamed(planned, without_folders(flags.on)));
  report.data = plan_report(question, planned).data;  // programs get the names as they gave them
  show(report, flags.json);
  if (flags.html.empty()) return 0;
  PageData page = plain_page("plan", fmt::format("How to split {}", question.shape.name), std::move(report));
  for (const auto& one : planned)
    page.topologies.push_back(drawn_topology(one.machine, Loads::of_nccl, question.nccl));
  write_html(flags.html, std::move(page));
  return 0;
}

}  // namespace

void add_plan_verb(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("plan", "the best way to split a model over a machine, and what NVLink is worth");
  auto flags = std::make_shared<PlanFlags>();
  verb->add_option("model", flags->model,
                   "a transformer of gradwire list models, or a YAML file with its sizes")
      ->required();
  verb->add_option("--on", flags->on, "a machine: a preset, a file, N*MACHINE@NETWORK; several times")
      ->required()
      ->take_all();
  verb->add_option("--batch", flags->batch, "sequences of a step over all GPUs; eight a GPU if not given")
      ->check(within(1, kMostSequences));
  verb->add_option("--sequence", flags->sequence, "tokens of a sequence")->check(within(1, 1 << 20));
  verb->add_option("--precision", flags->precision,
                   "of products: bf16 fp16 fp8 mxfp8 nvfp4 tf32 fp32; bf16 if the GPU has it, else fp16");
  verb->add_option("--step-ms", flags->step_ms,
                   "a step measured on one GPU: of --micro-batch sequences, else of the model's usual batch")
      ->check(within(0.001, 1e9));
  add_plan_sizes(*verb, flags->sizes);
  verb->add_option("--show", flags->most, "plans to show")->capture_default_str()->check(within(1, 1000));
  add_nccl_flag(*verb, flags->nccl);
  add_measured_flag(*verb, flags->measured);
  verb->add_flag("--json", flags->json, "print one JSON object and nothing else");
  add_html_flag(*verb, flags->html);
  verb->footer(kPlanExample);
  verb->callback([flags, &exit_code] { exit_code = run_plan(*flags); });
}

}  // namespace gradwire
