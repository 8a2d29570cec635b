#include "explain/case_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "explain/what_if.h"

namespace gradwire {
namespace {

void look(std::vector<std::string>& list, std::size_t count, const char* one, const char* many) {
  if (count == 1) list.emplace_back(one);
  if (count > 1) list.push_back(fmt::format("{} {}", count, many));
}

std::vector<std::string> looked_at(const CaseFile& given) {
  const auto topologies = std::count_if(
      given.files.files.begin(), given.files.files.end(),
      [](const ReadFile& file) { return file.kind == FileKind::nccl_xml && file.problem.empty(); });
  std::vector<std::string> list;
  look(list, given.files.profiles.size(), "a trace", "traces");
  look(list, given.files.timelines.size(), "a trace of gradwire", "traces of gradwire");
  const auto count_logs = [&](const auto& is_so) {
    return static_cast<std::size_t>(std::count_if(given.files.logs.begin(), given.files.logs.end(), is_so));
  };
  const auto kernels = count_logs([](const NcclLog& log) { return log.of_kernel; });
  const auto others = count_logs(
      [](const NcclLog& log) { return !log.of_kernel && log.nccl_lines == 0 && log.version.empty(); });
  look(list, given.files.logs.size() - kernels - others, "a log of NCCL", "logs of NCCL");
  look(list, kernels, "what the kernel says", "logs of kernels");
  look(list, others, "what a run printed", "texts that runs printed");
  look(list, given.files.matrices.size(), "a topology matrix", "topology matrices");
  look(list, static_cast<std::size_t>(topologies), "NCCL's topology of the machine", "topologies of NCCL");
  look(list, given.files.tables.size(), "a table of nccl-tests", "tables of nccl-tests");
  const auto named = std::count_if(given.files.nvlinks.begin(), given.files.nvlinks.end(),
                                   [](const NvlinkReport& report) { return report.names_alone; });
  look(list, given.files.nvlinks.size() - static_cast<std::size_t>(named), "the state of NVLinks",
       "states of NVLinks");
  look(list, static_cast<std::size_t>(named), "the names of GPUs", "lists of GPUs");
  look(list, given.files.link_types.size(), "how AMD's GPUs are joined",
       "reports of how AMD's GPUs are joined");
  look(list, given.files.peers.size(), "who may reach whom", "reports of who may reach whom");
  const auto asked = static_cast<std::size_t>(std::count_if(given.files.pci.begin(), given.files.pci.end(),
                                                            [](const auto& one) { return one.by_driver; }));
  look(list, given.files.pci.size() - asked, "a list of PCI devices", "lists of PCI devices");
  look(list, asked, "what nvidia-smi says of the GPUs", "reports of nvidia-smi on the GPUs");
  look(list, given.files.process_tables.size(), "who has memory on which GPU",
       "reports of who has memory on which GPU");
  const auto jobs =
      static_cast<std::size_t>(std::count_if(given.files.environments.begin(), given.files.environments.end(),
                                             [](const auto& one) { return one.job.described; }));
  look(list, given.files.environments.size() - jobs, "an environment", "environments");
  look(list, jobs, "the description of a job", "descriptions of jobs");
  look(list, given.files.scripts.size(), "a script", "scripts");
  look(list, given.files.dumps.size(), "a dump of the flight recorder: one rank's alone tells no hang",
       "dumps of the flight recorder");
  std::size_t stacks = 0;
  for (const StackDump& dump : given.files.stacks) stacks += dump.processes.size();
  look(list, stacks, "where the threads of a process stand", "processes and where their threads stand");
  look(list, given.files.nvlink_traffic.size(), "NVML's counters of NVLink", "counters of NVLink");
  look(list, given.files.nccl_calls.size(), "NCCL's own record of its calls", "records of NCCL's calls");
  look(list, given.files.notes.size(), "notes of gradwire watch", "notes of gradwire watch");
  return list;
}

// Worst first; of equals the one that costs more, then as found.
void sort_findings(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity < b.severity;
    return a.cost_ms.value_or(0) > b.cost_ms.value_or(0);
  });
}

std::string place_of(const Finding& finding) {
  return finding.evidence.substr(0, finding.evidence.find(": "));
}

// Every rank's file says the same: once is enough. Of two places both are named: a log, and the script that did it.
void join_equals(std::vector<Finding>& findings) {
  std::vector<Finding> joined;
  std::vector<int> times;
  std::vector<std::string> last;
  for (Finding& finding : findings) {
    const auto same = std::find_if(joined.begin(), joined.end(), [&](const Finding& other) {
      return other.rule == finding.rule && other.what == finding.what;
    });
    if (same == joined.end()) {
      joined.push_back(std::move(finding));
      times.push_back(1);
      last.emplace_back();
    } else {
      ++times[static_cast<std::size_t>(same - joined.begin())];
      last[static_cast<std::size_t>(same - joined.begin())] = place_of(finding);
      if (same->fix.find(finding.fix) == std::string::npos) same->fix += "; " + finding.fix;
    }
  }
  for (std::size_t i = 0; i < joined.size(); ++i)
    if (times[i] > 1)
      joined[i].evidence +=
          times[i] == 2 ? ", and " + last[i] : fmt::format(", and {} more times", times[i] - 1);
  findings = std::move(joined);
}

std::optional<Machine> machine_of_case(const Gathered& files, const std::string& on) {
  if (!on.empty()) return find_machine(on);
  if (files.machines.empty()) return std::nullopt;
  const std::string gpu = gpu_named(files);
  try {
    return find_machine(gpu.empty() ? files.machines[0] : files.machines[0] + ":" + gpu);
  } catch (const ConfigError&) {
    return std::nullopt;  // a matrix that names no GPU: good for its paths, not for rates
  }
}

int world_of(const std::vector<Profile>& profiles) {
  int world = 0;
  for (const Profile& profile : profiles) world = std::max(world, profile.world.value_or(0));
  return world;
}

void note_logged_machine(CaseFile& given) {
  const auto& rows = given.analysis->collectives;
  if (given.logged_machine && std::any_of(rows.begin(), rows.end(), [](const CollectiveRow& row) {
        return row.expected_busbw_gbps.has_value();
      }))
    given.analysis->notes.push_back(
        fmt::format("what rates should be is of {}, taken from the log; --on MACHINE states another",
                    given.logged_machine->name));
  for (const NcclLog& log : given.files.logs)
    if (log.ranks && *log.ranks != given.analysis->world.value_or(*log.ranks))
      return given.analysis->notes.push_back(
          fmt::format("{} is of a run of {} ranks, not of this one of {}: it does not tell where these are",
                      short_name(log.file), *log.ranks, *given.analysis->world));
}

}  // namespace

std::string_view to_string(Severity severity) {
  constexpr std::string_view kNames[] = {"high", "medium", "low"};
  return kNames[static_cast<int>(severity)];
}

std::string_view to_string(Certainty sure) { return sure == Certainty::certain ? "certain" : "likely"; }

std::string_view to_string(Answered answer) {
  constexpr std::string_view kNames[] = {"yes", "no", "unknown"};
  return kNames[static_cast<int>(answer)];
}

std::string short_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

std::string line_of_file(const std::string& file, int line, const std::string& text) {
  return fmt::format("{}:{}: {}", short_name(file), line, text);
}

bool has_nvlink(const TopoMatrix& matrix) {
  for (int i = 0; i < matrix.gpus; ++i)
    for (int j = 0; j < matrix.gpus; ++j)
      if (matrix.cells[i][j].starts_with("NV")) return true;
  return false;
}

bool all_nvlinked(const TopoMatrix& matrix) {
  for (int i = 0; i < matrix.gpus; ++i)
    for (int j = 0; j < matrix.gpus; ++j)
      if (i != j && !matrix.cells[i][j].starts_with("NV")) return false;
  return matrix.gpus > 1;
}

CaseFile make_case(Gathered files, const std::string& on) {
  CaseFile given;
  given.files = std::move(files);
  given.machine = machine_of_case(given.files, on);
  if (!given.machine) given.logged_machine = find_logged_machine(given);
  const Machine* const machine = given.find_rated();
  if (!given.files.profiles.empty())
    given.analysis = analyze_profiles(given.files.profiles,
                                      {given.machine ? machine : nullptr, machine,
                                       nodes_in_logs(given.files.logs, world_of(given.files.profiles))});
  else if (!given.files.timelines.empty())
    given.analysis =
        analyze_timeline(given.files.timelines[0].timeline, given.files.timelines[0].file, machine);
  if (!given.files.nccl_calls.empty()) given.nccl_calls = recorded_calls(given.files.nccl_calls, machine);
  if (given.analysis) note_logged_machine(given);
  if (given.analysis)
    for (std::string& note : left_out_notes(given.files)) given.analysis->notes.push_back(std::move(note));
  return given;
}

Diagnosis diagnose(const CaseFile& given) {
  Diagnosis diagnosis;
  diagnosis.looked_at = looked_at(given);
  for (const ReadFile& file : given.files.files)
    if (!file.problem.empty()) diagnosis.left_out.push_back(file.problem);
  for (const Profile& profile : given.files.profiles)
    for (const std::string& note : profile.notes)
      if (!profile.whole) diagnosis.notes.push_back(short_name(profile.file) + ": " + note);
  diagnosis.no_gpu = given.files.no_gpu;
  diagnosis.nvlink = answer_nvlink(given);
  add_failure_findings(given, diagnosis);
  add_log_findings(given, diagnosis);
  add_nvlink_findings(given, diagnosis);
  add_machine_findings(given, diagnosis);
  add_sweep_findings(given, diagnosis);
  add_process_findings(given, diagnosis);
  add_trace_findings(given, diagnosis);
  add_script_findings(given, diagnosis);
  add_flight_findings(given, diagnosis);
  add_stack_findings(given, diagnosis);
  add_watch_findings(given, diagnosis);
  add_loop_findings(given, diagnosis);
  price_findings(given, diagnosis.findings);
  join_equals(diagnosis.findings);
  explain_host_memory(given, diagnosis.findings);
  join_equals(diagnosis.hints);
  sort_findings(diagnosis.findings);
  share_costs(given, diagnosis.findings);
  return diagnosis;
}

}  // namespace gradwire
