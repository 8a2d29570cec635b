// A run that hangs, by where the threads of its processes stand: who waits in a collective, and who is elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "explain/case_file.h"

namespace gradwire {
namespace {

struct StandingProcess {
  std::string name;  // "process 4711", "the second process of a.txt"
  const DumpedThread* at = nullptr;
  const StackDump* dump = nullptr;
};

// Those of whom anything is known. One that crashed waits for nobody.
std::vector<StandingProcess> standing_processes(const CaseFile& given) {
  std::vector<StandingProcess> all;
  for (const StackDump& dump : given.files.stacks) {
    if (dump.crashed) continue;
    for (std::size_t i = 0; i < dump.processes.size(); ++i) {
      const DumpedProcess& process = dump.processes[i];
      const DumpedThread* const at = process.find_place();
      if (at == nullptr) continue;
      const std::string number = dump.processes.size() > 1 ? fmt::format(" {}", i + 1) : std::string();
      all.push_back({process.name.empty() ? fmt::format("process{} of {}", number, short_name(dump.file))
                                          : process.name,
                     at, &dump});
    }
  }
  return all;
}

std::string place_words(const DumpedThread& at) {
  if (at.doing == Doing::loading) return "waits for a batch of its DataLoader";
  const std::string file = short_name(at.file);
  return fmt::format("is in {}{}", at.call, file.empty() ? "" : fmt::format(" ({})", file));
}

std::string evidence_of(const StandingProcess& process) {
  return line_of_file(process.dump->file, process.at->line,
                      fmt::format("{} {}", process.name, place_words(*process.at)));
}

Finding waiting_finding(const StandingProcess& seen, std::string what, std::string fix) {
  Finding finding;
  finding.rule = "R35";
  finding.severity = Severity::high;
  finding.sure = Certainty::likely;
  finding.ends_the_run = true;
  finding.what = std::move(what);
  finding.evidence = evidence_of(seen);
  finding.cost_note = "the run stands still, unless the stacks were taken of one that goes on";
  finding.fix = std::move(fix);
  return finding;
}

std::vector<StandingProcess> those_in(const std::vector<StandingProcess>& all,
                                      std::initializer_list<Doing> doings) {
  std::vector<StandingProcess> some;
  for (const StandingProcess& process : all)
    if (std::find(doings.begin(), doings.end(), process.at->doing) != doings.end()) some.push_back(process);
  return some;
}

std::string process_names(const std::vector<StandingProcess>& some) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(some.size(), kNamed); ++i) names.push_back(some[i].name);
  if (some.size() > kNamed) names.push_back(fmt::format("{} more", some.size() - kNamed));
  return join(names, ", ");
}

// "all_reduce: process 3; barrier: process 4"
std::string waited_calls(const std::vector<StandingProcess>& waiting) {
  std::map<std::string, std::vector<StandingProcess>> calls;
  for (const StandingProcess& process : waiting) calls[process.at->call].push_back(process);
  std::vector<std::string> parts;
  for (const auto& [call, who] : calls) parts.push_back(fmt::format("{}: {}", call, process_names(who)));
  return join(parts, "; ");
}

bool in_one_call(const std::vector<StandingProcess>& waiting) {
  return std::all_of(waiting.begin(), waiting.end(),
                     [&](const StandingProcess& process) { return process.at->call == waiting[0].at->call; });
}

// A process that waits for its GPU may wait there for the same collective: nobody is blamed for that.
Finding judge_waiting(const std::vector<StandingProcess>& all, const std::vector<StandingProcess>& waiting) {
  const auto elsewhere = those_in(all, {Doing::loading, Doing::other});
  if (!elsewhere.empty())
    return waiting_finding(
        elsewhere[0],
        fmt::format("{} {}, while others wait in a collective for it ({})", process_names(elsewhere),
                    elsewhere.size() == 1 ? place_words(*elsewhere[0].at) : "are outside of collectives",
                    waited_calls(waiting)),
        "look at what that process does instead: its input, its log, a branch that the others do not take");
  if (!in_one_call(waiting))
    return waiting_finding(waiting[0],
                           "processes wait for each other in different collectives: " + waited_calls(waiting),
                           "the same calls in the same order on every rank; TORCH_DISTRIBUTED_DEBUG=DETAIL "
                           "names the first that differs");
  return waiting_finding(
      waiting[0],
      fmt::format("{} {} in a collective ({}), which ends once every rank has come to it: one that is not "
                  "here did not, or "
                  "what carries it failed",
                  process_names(waiting), waiting.size() == 1 ? "waits" : "wait", waiting[0].at->call),
      "py-spy dump --pid of every rank at one time, all given to gradwire doctor: who is elsewhere is the "
      "one they wait "
      "for; all in it: NCCL_P2P_DISABLE=1 tells whether peers carry it, dmesg | grep -i nvrm");
}

void hint_at_place(const StandingProcess& seen, const char* rule, std::string what, const char* fix,
                   Diagnosis& diagnosis) {
  Finding hint = waiting_finding(seen, std::move(what), fix);
  hint.rule = rule;
  hint.severity = Severity::low;
  diagnosis.hints.push_back(std::move(hint));
}

}  // namespace

void add_stack_findings(const CaseFile& given, Diagnosis& diagnosis) {
  const auto all = standing_processes(given);
  const auto waiting = those_in(all, {Doing::collective}), meeting = those_in(all, {Doing::meeting});
  if (!waiting.empty()) return diagnosis.findings.push_back(judge_waiting(all, waiting));
  if (!meeting.empty()) {
    diagnosis.findings.push_back(
        waiting_finding(meeting[0],
                        fmt::format("{} {} for others that have not come: ranks do not meet",
                                    process_names(meeting), meeting.size() == 1 ? "waits" : "wait"),
                        "as many processes as WORLD_SIZE says; MASTER_ADDR and MASTER_PORT as every node "
                        "reaches them; open the firewall "
                        "between nodes; NCCL_SOCKET_IFNAME names the interface that all share"));
    diagnosis.findings.back().rule = "R36";
    return;
  }
  if (const auto gpus = those_in(all, {Doing::on_gpu, Doing::backward}); !gpus.empty())
    return hint_at_place(
        gpus[0], "R35",
        fmt::format("{} {}: if it stays there, its GPU waits, for another rank in a collective or for a "
                    "kernel that does not end",
                    gpus[0].name, place_words(*gpus[0].at)),
        "py-spy dump --native --pid of every rank at one time; TORCH_NCCL_TRACE_BUFFER_SIZE=2000 for "
        "what each rank called last",
        diagnosis);
  if (const auto loading = those_in(all, {Doing::loading}); !loading.empty())
    hint_at_place(loading[0], "R41",
                  fmt::format("{} {}: if it is there most times, input holds the run up", loading[0].name,
                              place_words(*loading[0].at)),
                  "more num_workers; the stacks of its workers (py-spy dump --subprocesses)", diagnosis);
}

}  // namespace gradwire
