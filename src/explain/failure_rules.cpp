// Why a run died, by what NCCL and PyTorch printed, and what RCCL warns of. What each was learnt from stands in
// docs/explain.md.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "explain/log_words.h"
#include "import/known_failures.h"

namespace gradwire {
namespace {

struct ToldFailure {
  const KnownFailure* known;
  const SaidInLog* said;
};

// Python shows the line that raises an error above the error itself, which says more.
bool is_source(const SaidInLog& said) {
  const auto raise = said.text.find("raise ");
  return raise != std::string::npos && trim(std::string_view(said.text).substr(0, raise)).size() <= 10;
}

bool is_waiting(Effect effect) { return effect == Effect::ranks_wait || effect == Effect::call_hangs; }

// Others waited in a collective until they gave up.
bool tells_of_hang(const NcclLog& log) {
  return std::any_of(log.failures.begin(), log.failures.end(), [](const SaidInLog& said) {
    const KnownFailure* const known = find_known_failure(said.text);
    return known != nullptr && is_waiting(known->meaning.effect);
  });
}

bool is_launchers(const KnownFailure& known) { return known.meaning.effect == Effect::rank_failed; }

bool tells_of_echo(const std::vector<ToldFailure>& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const ToldFailure& told) { return told.known->told == Told::echo; });
}

// Causes first; of what may be a symptom the first that was said, and so on. A launcher has the last word.
std::vector<ToldFailure> told_failures(const NcclLog& log, bool hung) {
  std::vector<ToldFailure> told;
  for (const auto* list : {&log.warnings, &log.failures})
    for (const SaidInLog& said : *list)
      if (const KnownFailure* known = find_known_failure(said.text))
        told.push_back({hung ? &as_cause(*known) : known, &said});
  if (tells_of_echo(told))
    for (ToldFailure& one : told) one.known = &as_echo(*one.known);
  const auto order = [](const ToldFailure& one) {
    return std::tuple(one.known->told, is_launchers(*one.known), is_source(*one.said), one.said->line);
  };
  std::stable_sort(told.begin(), told.end(),
                   [&](const ToldFailure& a, const ToldFailure& b) { return order(a) < order(b); });
  return told;
}

bool tells_of_death(const std::vector<ToldFailure>& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const ToldFailure& told) { return told.known->told == Told::unexplained; });
}

enum class Weight { none, hint, finding };

// What concerns the network between nodes means nothing inside of one; where nobody says how many there are it is a guess,
// unless the run died and nothing else explains it.
Weight weight_of(const KnownFailure& known, const NcclLog& run, bool died) {
  if (known.told == Told::noise) return Weight::none;
  if (known.told == Told::hint || known.told == Told::echo) return Weight::hint;
  if (known.scope != Scope::nodes && known.scope != Scope::sockets) return Weight::finding;
  if (run.is_of_one_node() || (known.scope == Scope::sockets && has_own_network(run))) return Weight::none;
  return run.spans_nodes() || died ? Weight::finding : Weight::hint;
}

Severity severity_of(Told told) {
  if (told == Told::aside) return Severity::low;
  return told < Told::unexplained ? Severity::high : Severity::medium;
}

Apart apart_by(Effect effect) {
  if (effect == Effect::peers_refused) return Apart::refused;
  return effect == Effect::gpus_hidden ? Apart::hidden : Apart::no;
}

// That a call did not end is no proof that a rank did not come to it.
bool leaves_no_doubt(const KnownFailure& known) {
  return known.told != Told::unexplained && known.told != Told::usual_cause &&
         known.meaning.effect != Effect::call_hangs;
}

Finding finding_of(const NcclLog& log, const NcclLog& run, const ToldFailure& told) {
  Finding finding;
  finding.rule = told.known->meaning.rule;
  finding.severity = severity_of(told.known->told);
  finding.sure = leaves_no_doubt(*told.known) ? Certainty::certain : Certainty::likely;
  finding.what = told.known->meaning.what;
  finding.evidence = line_of_file(log.file, told.said->line, told.said->text);
  finding.fix = told.known->meaning.fix;
  finding.apart = apart_by(told.known->meaning.effect);
  finding.ends_the_run = told.known->told <= Told::unexplained;
  if (is_waiting(told.known->meaning.effect)) blame_stuck_calls(run, finding);
  return finding;
}

Finding hint_of(const NcclLog& log, const ToldFailure& told) {
  Finding hint = finding_of(log, log, told);
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  return hint;
}

// It failed, nothing says why, and a peer was tried again and again.
void blame_silent_peer(const NcclLog& log, Finding& finding) {
  if (!log.refused) return;
  finding.rule = silent_peer().rule;
  finding.what = silent_peer().what;
  finding.evidence = line_of_file(log.file, log.refused->line,
                                  fmt::format("{} ({} times)", log.refused->text, log.refused->times));
  finding.fix = silent_peer().fix;
}

// A launcher says that a rank ended, and the rank said what its program ended in.
void blame_own_error(const NcclLog& log, Finding& finding) {
  if (log.error.times == 0) return;
  finding.what =
      "a rank ended in an error of its program, which is not known here as one of links or ranks: " +
      log.error.text;
  finding.evidence = line_of_file(log.file, log.error.line, log.error.text);
  finding.fix =
      "the calls above it in the log name the place; one process alone shows whether it needs several";
}

struct DeathFinding {
  Told told;
  Finding finding;
};

struct Deaths {
  std::vector<DeathFinding> findings, hints;
  bool hung = false;  // some rank waited until it gave up
};

// Which failures were told already. Each cause counts, also of one rule: one GPU falls off the bus and the memory of another
// fails. Of what may come of a cause the first of a rule is enough, and none where the cause is told.
class ToldOnce {
 public:
  bool is_new(const KnownFailure& known) {
    const bool rule = rules_.insert(known.meaning.rule).second;
    const bool meaning = meanings_.insert(known.meaning.what).second;
    return known.told <= Told::usual_cause ? meaning : rule;
  }

 private:
  std::set<std::string_view> rules_, meanings_;
};

void add_failures_of(const NcclLog& log, const NcclLog& run, Deaths& all) {
  ToldOnce findings;
  std::set<std::string_view> hinted;
  const auto told_by_log = told_failures(log, all.hung);
  for (const ToldFailure& told : told_by_log) {
    const KnownFailure& known = *told.known;
    const Weight weight = weight_of(known, run, tells_of_death(told_by_log));
    if (weight == Weight::hint && hinted.insert(known.meaning.what).second)
      all.hints.push_back({known.told, hint_of(log, told)});
    if (weight != Weight::finding || !findings.is_new(known)) continue;
    all.findings.push_back({known.told, finding_of(log, run, told)});
    if (known.told == Told::unexplained) blame_silent_peer(log, all.findings.back().finding);
    if (is_launchers(known)) blame_own_error(log, all.findings.back().finding);
    suit_to_log(log, all.findings.back().finding);
  }
}

// Over all logs: what one rank saw of another's death comes after what that one died of, and what is explained needs no
// word that it is not. Nor does an echo say anything where a failure is told.
Deaths deaths_in(const std::vector<NcclLog>& logs) {
  Deaths all;
  all.hung = std::any_of(logs.begin(), logs.end(), tells_of_hang);
  const auto run = find_joined(logs);
  for (const NcclLog& log : logs) add_failures_of(log, run ? *run : log, all);
  auto& findings = all.findings;
  std::stable_sort(findings.begin(), findings.end(),
                   [](const DeathFinding& a, const DeathFinding& b) { return a.told < b.told; });
  if (!findings.empty())
    std::erase_if(all.hints, [](const DeathFinding& hint) { return hint.told == Told::echo; });
  const bool explained = !findings.empty() && findings.front().told < Told::unexplained;
  if (explained)
    std::erase_if(findings, [](const DeathFinding& one) { return one.told == Told::unexplained; });
  return all;
}

// A virtual machine shows its GPUs without the bridges above them.
void hint_at_hidden_pci(const NcclLog& log, std::vector<Finding>& hints) {
  if (!log.hidden_pci) return;
  Finding hint;
  hint.rule = "R19";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what = "NCCL can't read how fast the PCIe links are, as in a virtual machine, and may choose badly";
  hint.evidence = line_of_file(log.file, log.hidden_pci->line, log.hidden_pci->text);
  hint.fix = "NCCL_TOPO_FILE=...  # the provider's XML for this kind of machine";
  hints.push_back(std::move(hint));
}

// An error that nobody knows, raised by a call that joins ranks: no line of the program's own is to blame before it.
std::optional<Finding> find_failed_call(const NcclLog& log) {
  if (log.error.times == 0 || !log.failed_in_call) return std::nullopt;
  Finding finding;
  finding.rule = "R00";
  finding.sure = Certainty::likely;
  finding.ends_the_run = true;
  finding.what =
      "a call of torch.distributed, or of what is built on it, failed with an error that is not known "
      "here: " +
      log.error.text;
  finding.evidence = line_of_file(log.file, log.error.line, log.error.text);
  finding.fix =
      "what the call was given, above it in the log; the output of the other ranks, from the first that "
      "failed";
  return finding;
}

// A program that ended in an error of its own: no word of it is known here, and that nothing is wrong can't be said.
void hint_at_error(const NcclLog& log, std::vector<DeathFinding>& hints) {
  if (log.error.times == 0) return;
  Finding hint;
  hint.rule = "R00";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what = "the program ended in an error, which is not known here as one of links or ranks";
  hint.evidence = line_of_file(log.file, log.error.line, log.error.text);
  hint.fix =
      "the output of the other ranks, from the first that failed; NCCL_DEBUG=INFO if it was in a collective";
  hints.push_back({Told::hint, std::move(hint)});
}

}  // namespace

void add_failure_findings(const CaseFile& given, Diagnosis& diagnosis) {
  Deaths deaths = deaths_in(given.files.logs);
  for (const auto find_death : {find_failed_start, find_failed_call})
    if (deaths.findings.empty())
      for (const NcclLog& log : given.files.logs)
        if (auto finding = find_death(log))
          deaths.findings.push_back({Told::unexplained, std::move(*finding)});
  if (deaths.findings.empty() && deaths.hints.empty())
    for (const NcclLog& log : given.files.logs) hint_at_error(log, deaths.hints);
  for (DeathFinding& death : deaths.findings) diagnosis.findings.push_back(std::move(death.finding));
  for (DeathFinding& hint : deaths.hints) diagnosis.hints.push_back(std::move(hint.finding));
  for (const NcclLog& log : given.files.logs) hint_at_hidden_pci(log, diagnosis.hints);
}

}  // namespace gradwire
