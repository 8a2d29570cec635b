#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/explain/explain.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

const WatchNotes* find_traced(const std::vector<WatchNotes>& notes) {
  const auto found =
      std::find_if(notes.begin(), notes.end(), [](const auto& one) { return one.profiled_steps > 0; });
  return found == notes.end() ? nullptr : &*found;
}

// The hook's own share of a step that is not traced.
double own_share(const WatchNotes& notes) {
  const auto step = notes.plain_ms();
  return step && *step > 0 ? notes.own_us * 1e-3 / *step : 0;
}

// Three clocks would tell three step times: each says what it is of.
std::string overhead_words(const WatchNotes& notes) {
  std::string text = fmt::format("Watching took {:.1f} us a step ({:.2f} %) outside of the traced ones.",
                                 notes.own_us, own_share(notes) * 100);
  if (notes.profiled_ms && notes.plain_ms())
    text += fmt::format(
        " By the clock of rank {} its {} traced steps took {:.2f} ms each, the others {:.2f} (medians); step "
        "times "
        "above are means, of traced steps alone.",
        notes.rank, notes.profiled_steps, *notes.profiled_ms, *notes.plain_ms());
  return text + fmt::format(" Starting the profiler took {:.0f} ms, writing the trace {:.0f} ms.",
                            notes.start_ms, notes.write_ms);
}

Json ms_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json overhead_json(const WatchNotes& notes) {
  return {{"own_us", notes.own_us},
          {"own_share", own_share(notes)},
          {"step_ms_before", ms_or_null(notes.before_ms)},
          {"step_ms_traced", ms_or_null(notes.profiled_ms)},
          {"step_ms_after", ms_or_null(notes.after_ms)},
          {"start_ms", notes.start_ms},
          {"write_ms", notes.write_ms}};
}

std::vector<std::string> remarks(const WatchedRun& run, const CaseFile& given) {
  std::vector<std::string> all = run.left_alone;
  for (const WatchNotes& notes : given.files.notes)
    for (const std::string& problem : notes.problems)
      all.push_back(fmt::format("rank {}: {}", notes.rank, problem));
  if (given.analysis) return all;
  if (given.files.notes.empty())
    all.emplace_back(
        "no trace: no process of it stepped an optimizer of PyTorch (python -I, -E and -S keep the hook "
        "out)");
  else if (find_traced(given.files.notes) == nullptr)
    all.push_back(
        fmt::format("no trace: the run made {} steps of the optimizer", given.files.notes.front().steps));
  return all;
}

// A program that failed before it left anything: that nothing was found is no praise.
std::optional<std::string> nothing_seen(const WatchedRun& run, const CaseFile& given,
                                        const Diagnosis& diagnosis) {
  const bool empty = !given.analysis && !given.nccl_calls && diagnosis.findings.empty();
  if (!empty || run.exit_code == 0) return std::nullopt;
  return "It failed before anything was left that says why: its own output, above, has to.";
}

Json watch_json(const WatchedRun& run, const CaseFile& given, const std::vector<std::string>& notes) {
  const WatchNotes* traced = find_traced(given.files.notes);
  return {{"exit_code", run.exit_code},
          {"end", run.end},
          {"seconds", run.took},
          {"torch", given.files.notes.empty() ? Json(nullptr) : Json(given.files.notes.front().torch)},
          {"overhead", traced == nullptr ? Json(nullptr) : overhead_json(*traced)},
          {"notes", notes}};
}

}  // namespace

Report watch_report(const WatchedRun& run, const CaseFile& given, const Diagnosis& diagnosis,
                    const WhatIfs& others) {
  const auto notes = remarks(run, given);
  Report report, what_else = what_if_report(others), found = diagnosis_report(diagnosis);
  report.data = given.analysis ? analysis_json(*given.analysis) : Json::object();
  for (const auto& [key, value] : found.data.items()) report.data[key] = value;
  report.data["what_if"] = what_else.data;
  report.data["watch"] = watch_json(run, given, notes);
  report.add(Title{fmt::format("gradwire watch: the program {} after {:.1f} s", run.end, run.took)}, Gap{});
  if (given.analysis) {
    report.append(analysis_report(*given.analysis));
    report.add(Gap{});
  }
  if (given.nccl_calls) {
    Report recorded = recorded_report(*given.nccl_calls);
    report.data["nccl_calls"] = recorded.data;
    report.append(std::move(recorded));
    report.add(Gap{});
  }
  if (const auto nothing = nothing_seen(run, given, diagnosis))
    report.add(Sentence{*nothing, "", "  "});
  else
    report.append(std::move(found));
  if (!what_else.blocks.empty()) report.add(Gap{});
  report.append(std::move(what_else));
  report.add(Gap{});
  if (const WatchNotes* traced = find_traced(given.files.notes))
    report.add(Sentence{overhead_words(*traced), "", "  "});
  for (const std::string& note : notes) report.add(Sentence{"note: " + printable(note), "  ", "        "});
  return report;
}

}  // namespace gradwire
