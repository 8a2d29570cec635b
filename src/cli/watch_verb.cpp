#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/files.h"
#include "cli/flags.h"
#include "cli/this_host.h"
#include "cli/usage.h"
#include "cli/verbs.h"
#include "import/nvlink_traffic.h"
#include "report/explain/explain.h"
#include "report/page/run_timeline.h"
#include "report/render.h"
#include "watch/watch.h"

namespace gradwire {
namespace {

constexpr const char* kWatchExample = R"(
The program runs as it would without: its output, exit code and signals are its
own. A few of its steps are traced by PyTorch's profiler (1.8 and later, with
Kineto or without), NCCL logs into a file, DistributedDataParallel says how it
is set. When it has ended, what analyze and doctor find is printed to standard
error. With --json one object goes to standard output, and what the program
prints there to standard error. What you set yourself (NCCL_DEBUG, a profiler)
is left alone, and the report says so.

Examples, where train.py is your program:
  gradwire watch -- torchrun --nproc-per-node 2 train.py
  gradwire watch --out seen --steps 10 -- python3 train.py --epochs 1
  gradwire watch --html run.html -- torchrun --nproc-per-node 2 train.py
  gradwire watch --json -- gradwire run -n 2 -- python3 train.py > report.json
)";

struct WatchFlags {
  std::vector<std::string> command;
  std::string out, on, html;
  int start = -1, steps = 8;
  bool json = false;
};

Gathered gather_from(const std::filesystem::path& folder) {
  Gathered gathered = gradwire::read_all({folder.string()});
  Gathered host = this_host();
  gathered.matrices.insert(gathered.matrices.end(), host.matrices.begin(), host.matrices.end());
  gathered.nvlinks.insert(gathered.nvlinks.end(), host.nvlinks.begin(), host.nvlinks.end());
  return gathered;
}

// NVML's counters, which tell whether NVLink was used at all, kept with what the run left.
void keep_nvlink_traffic(const std::filesystem::path& folder, const std::vector<NvmlTraffic>& before) {
  if (before.empty()) return;
  const auto traffic = traffic_between(before, read_nvlink_traffic());
  if (!traffic.gpus.empty()) write_file(folder / "nvlink_traffic.json", nvlink_traffic_json(traffic));
}

int run_watch(const WatchFlags& flags) {
  std::optional<TempDir> temporary;
  if (flags.out.empty()) temporary.emplace();
  WatchOptions options;
  options.command = flags.command;
  options.folder = temporary ? temporary->path() / "watched" : std::filesystem::path(flags.out);
  options.window.steps = flags.steps;
  if (flags.start >= 0) options.window.start = flags.start;
  options.output_to_error = flags.json;
  if (!flags.on.empty()) find_machine(flags.on);  // before hours of training, not after
  const auto counted = read_nvlink_traffic();
  const WatchedRun run = watch(options, process_environment());
  keep_nvlink_traffic(options.folder, counted);
  const CaseFile given = make_case(gather_from(options.folder), flags.on);
  Report report = watch_report(run, given, diagnose(given), what_if(given, {"nvlink", "pcie"}));
  if (flags.json)
    show(report, true);
  else
    fmt::print(stderr, "\n{}", to_text(report));
  if (!flags.html.empty())
    write_html(flags.html, run_page(given, plain_page("watch", "A run that was watched", std::move(report))));
  return run.exit_code;
}

}  // namespace

void add_watch_verb(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<WatchFlags>();
  CLI::App* verb = app.add_subcommand(
      "watch", "run a training command as it is, then say where its time went and what is wrong");
  verb->add_option("program", flags->command, "what to run, and its arguments")->required();
  verb->add_option("--out", flags->out, "keep what was collected in this folder, new or empty")
      ->type_name("DIR");
  verb->add_option("--steps", flags->steps, "steps of the optimizer to trace")
      ->capture_default_str()
      ->check(within(1, 1000));
  verb->add_option("--start", flags->start,
                   "steps to let pass before; if not given, 2 are traced after 2, and the others after 10")
      ->check(within(1, 1e9));
  verb->add_option("--on", flags->on, "the machine it runs on: gives the rates to expect")
      ->type_name("MACHINE");
  verb->add_flag("--json", flags->json, "one JSON object on standard output and nothing else");
  add_html_flag(*verb, flags->html);
  verb->footer(kWatchExample);
  verb->callback([flags, &exit_code] { exit_code = run_watch(*flags); });
}

}  // namespace gradwire
