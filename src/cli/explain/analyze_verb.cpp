#include "cli/explain/analyze_verb.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "explain/case_file.h"
#include "report/explain_text.h"

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

int run_analyze(const AnalyzeFlags& flags) {
  const RunAnalysis analysis = analyze_files(flags);
  if (flags.json)
    fmt::print("{}\n", analysis_json(analysis).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}", analysis_text(analysis));
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
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  verb->footer(kAnalyzeExample);
  verb->callback([flags, &exit_code] { exit_code = run_analyze(*flags); });
}

}  // namespace gradwire
