#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "explain/case_file.h"
#include "report/explain/explain.h"
#include "report/page/run_timeline.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kAnalyzeExample = R"(
FILES are traces of torch.profiler (plain or .gz, one a rank) or of gradwire
train, folders of them, and with them in any order what tells the machine: a
saved `nvidia-smi topo -m`, NCCL's topology XML, or its log with
NCCL_DEBUG=INFO. Kinds are told by content.
One rank of many is enough for an answer that says what it can't know. Files of
flight recorders (PyTorch's dumps, Gradwire's flight_rankR_N.bin) say which rank
is behind on which call, and NCCL's own record of its calls (nccl_calls_*.bin,
see docs/nccl.md) what it ran and how fast. --what-if puts the run on other
links: nvlink, pcie, or a machine as --on takes it.

Examples, each below what makes its files:
  gradwire train gpt-tiny -n 2 --steps 20 --trace trace.json
  gradwire analyze trace.json
  prof.export_chrome_trace(f"traces/rank{rank}.json")   # in your own program
  gradwire analyze traces/ --on 8x-a100-nvswitch --json
  gradwire analyze traces/ --html run.html
  gradwire analyze traces/rank0.json --what-if nvlink --what-if pcie
  nvidia-smi topo -m > topo.txt                         # on its machine
  gradwire analyze traces/ topo.txt
  GRADWIRE_FLIGHT_DIR=flight gradwire train mlp -n 2 --steps 20
  gradwire analyze flight/
)";

struct AnalyzeFlags {
  std::vector<std::string> files, what_if;
  std::string on, html;
  bool json = false;
};

[[noreturn]] void refuse_files(const Gathered& gathered) {
  for (const ReadFile& file : gathered.files)
    if (!file.problem.empty()) throw ConfigError(file.problem);
  if (gathered.files.empty()) throw ConfigError("there is no trace in that folder");
  throw ConfigError(fmt::format("{}: this is {}, which gradwire doctor reads; a trace is needed here",
                                gathered.files[0].file, words_for(gathered.files[0].kind)));
}

// What analyze has to say of these files: of traces where the time went, of records alone what they hold.
int run_analyze(const AnalyzeFlags& flags) {
  Gathered gathered = read_all(flags.files);
  const bool traced = !gathered.profiles.empty() || !gathered.timelines.empty();
  if (!traced && gathered.dumps.empty() && gathered.nccl_calls.empty()) refuse_files(gathered);
  const CaseFile given = make_case(std::move(gathered), flags.on);
  std::optional<WhatIfs> others;
  if (!flags.what_if.empty()) others = what_if(given, flags.what_if);
  Report report = traced ? traces_report(given, others) : records_report(given, diagnose(given));
  show(report, flags.json);
  if (!flags.html.empty())
    write_html(flags.html, run_page(given, plain_page("analyze", "Where the time went", std::move(report))));
  return 0;
}

}  // namespace

void add_analyze_verb(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<AnalyzeFlags>();
  CLI::App* verb = app.add_subcommand("analyze", "where the time of a step went, from the traces a run left");
  verb->add_option("files", flags->files, "traces, folders of traces, a topology")
      ->required()
      ->type_name("FILES");
  verb->add_option("--on", flags->on, "the machine it ran on: gives the rates to expect")
      ->type_name("MACHINE");
  verb->add_option("--what-if", flags->what_if, "nvlink, pcie or a machine: this run with those links")
      ->type_name("LINK")
      ->take_all();
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  add_html_flag(*verb, flags->html);
  verb->footer(kAnalyzeExample);
  verb->callback([flags, &exit_code] { exit_code = run_analyze(*flags); });
}

}  // namespace gradwire
