#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cli/flags.h"
#include "cli/this_host.h"
#include "cli/verbs.h"
#include "explain/case_file.h"
#include "report/explain/explain.h"
#include "report/page/run_timeline.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr int kFindingsCode = 3, kUnreadCode = 2;

constexpr const char* kDoctorExample = R"(
FILES are any mix of: logs of a run with NCCL_DEBUG=INFO, or its last words,
where it hangs (py-spy dump), dmesg, traces of torch.profiler, nvidia-smi topo
-m, topo -p2p r, nvlink -s, -q and --query-gpu, rocm-smi --showtopo, lspci -vv,
output of nccl-tests, NCCL's topology XML, an environment (env > env.txt) or a
job's YAML, training scripts, folders of them. Without files it looks at this
machine. Exit code 0: nothing found; 3: findings; 2: nothing found, and a file
can't be read.

Examples, each below what makes its files:
  gradwire doctor
  NCCL_DEBUG=INFO torchrun --nproc-per-node 2 train.py > run.log 2>&1
  nvidia-smi topo -m > topo.txt
  gradwire doctor run.log topo.txt
  gradwire doctor run.log --html findings.html
  gradwire watch --out seen -- torchrun --nproc-per-node 2 train.py
  gradwire doctor seen/ train.py --json
)";

struct DoctorFlags {
  std::vector<std::string> files;
  std::string on, html;
  bool json = false;
};

// One file that tells something is enough; what is wrong with the others is said in the diagnosis.
void refuse_useless(const Gathered& gathered) {
  if (gathered.files.empty()) throw ConfigError("there is nothing in that folder that a diagnosis could use");
  const bool any = std::any_of(gathered.files.begin(), gathered.files.end(),
                               [](const ReadFile& file) { return file.problem.empty(); });
  if (!any) throw ConfigError(gathered.files[0].problem);
}

int run_doctor(const DoctorFlags& flags) {
  Gathered gathered = flags.files.empty() ? this_host() : read_all(flags.files);
  refuse_useless(gathered);
  const CaseFile file = make_case(std::move(gathered), flags.on);
  const Diagnosis diagnosis = diagnose(file);
  Report report = diagnosis_report(diagnosis);
  show(report, flags.json);
  if (!flags.html.empty())
    write_html(flags.html, run_page(file, plain_page("doctor", "Diagnosis", std::move(report))));
  if (!diagnosis.findings.empty()) return kFindingsCode;
  return diagnosis.left_out.empty() ? 0 : kUnreadCode;  // what was not read may be what is wrong
}

}  // namespace

void add_doctor_verb(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* verb =
      app.add_subcommand("doctor", "what is wrong with a run or a machine, what it costs, how to mend it");
  verb->add_option("files", flags->files, "logs, traces, topologies, scripts; none: this machine")
      ->type_name("FILES");
  verb->add_option("--on", flags->on, "the machine it ran on: gives the rates to expect")
      ->type_name("MACHINE");
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  add_html_flag(*verb, flags->html);
  verb->footer(kDoctorExample);
  verb->callback([flags, &exit_code] { exit_code = run_doctor(*flags); });
}

}  // namespace gradwire
