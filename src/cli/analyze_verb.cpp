#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/verbs.h"
#include "explain/case_file.h"
#include "report/explain/explain.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kAnalyzeExample = R"(
FILES are traces of torch.profiler (plain or .gz, one a rank) or of gradwire
train, folders of them, and with them in any order what tells the machine: a
saved `nvidia-smi topo -m` or NCCL's topology XML. Kinds are told by content.
One rank of many is enough for an answer that says what it can't know.

Examples:
  gradwire analyze trace.json
  gradwire analyze ./log/*.pt.trace.json.gz topo.txt
  gradwire analyze traces/ --on 8x-a100-nvswitch --json
)";

struct AnalyzeFlags {
  std::vector<std::string> files;
  std::string on;
  bool json = false;
};

[[noreturn]] void refuse_files(const Gathered& gathered) {
  for (const ReadFile& file : gathered.files)
    if (!file.problem.empty()) throw ConfigError(file.problem);
  if (gathered.files.empty()) throw ConfigError("there is no trace in that folder");
  throw ConfigError(fmt::format("{}: this is {}, which gradwire doctor reads; a trace is needed here",
                                gathered.files[0].file, words_for(gathered.files[0].kind)));
}

RunAnalysis analyze_files(const AnalyzeFlags& flags) {
  Gathered gathered = read_all(flags.files);
  if (gathered.profiles.empty() && gathered.timelines.empty()) refuse_files(gathered);
  return *make_case(std::move(gathered), flags.on).analysis;
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
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  verb->footer(kAnalyzeExample);
  verb->callback([flags, &exit_code] {
    show(analysis_report(analyze_files(*flags)), flags->json);
    exit_code = 0;
  });
}

}  // namespace gradwire
