// A run that hangs, by the flight recorders of its ranks: which rank is behind, on which call; or which call all of them are
// in, and who left no dump.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/text.h"
#include "explain/case_file.h"
#include "import/communication_names.h"

namespace gradwire {
namespace {

struct RankProgress {
  int rank = 0;
  long last = -1;  // the latest call it made
  const RecordedCall* call = nullptr;
  const RecordedCall* open = nullptr;  // the first that has not ended; null: all have
  std::string file;
};

using GroupProgress = std::map<std::string, std::vector<RankProgress>>;

GroupProgress progress_of(std::span<const FlightDump> dumps) {
  GroupProgress groups;
  for (std::size_t i = 0; i < dumps.size(); ++i) {
    std::map<std::string, RankProgress> own;
    for (const RecordedCall& call : dumps[i].calls) {
      if (call.point_to_point) continue;  // ranks differ in how many of these they make
      auto& progress = own[call.group];
      if (!call.has_ended() && (progress.open == nullptr || call.sequence < progress.open->sequence))
        progress.open = &call;
      if (call.sequence < progress.last) continue;
      progress = {dumps[i].rank.value_or(static_cast<int>(i)), call.sequence, &call, progress.open,
                  dumps[i].file};
    }
    for (const auto& [group, progress] : own) groups[group].push_back(progress);
  }
  return groups;
}

const RecordedCall* find_call(const FlightDump& dump, const std::string& group, long sequence) {
  const auto found = std::find_if(dump.calls.begin(), dump.calls.end(), [&](const auto& call) {
    return call.group == group && call.sequence == sequence && !call.point_to_point;
  });
  return found == dump.calls.end() ? nullptr : &*found;
}

Finding hang_finding(const std::string& what, const std::string& evidence) {
  Finding finding;
  finding.rule = "R35";
  finding.severity = Severity::high;
  finding.what = what;
  finding.evidence = evidence;
  finding.cost_note = "the run stands still";
  finding.fix = "look at what that rank did instead: its stack (py-spy dump), its log, its input";
  return finding;
}

// A call for which every rank needs every other's part has all of them in it when it has ended: dumps of a run that goes on
// are not of one moment.
bool had_all_ranks(const RecordedCall* call) {
  if (call == nullptr || call->state != CallState::completed) return false;
  const auto kind = collective_of(call->name);
  return kind == Collective::all_reduce || kind == Collective::all_gather ||
         kind == Collective::reduce_scatter || kind == Collective::all_to_all || kind == Collective::barrier;
}

// The call that none of these ranks has ended, where it is the same: nobody is behind then, however far each has
// called ahead of its GPU. Null: there is none.
const RecordedCall* find_common_open(const std::vector<RankProgress>& ranks) {
  const RecordedCall* const first = ranks.front().open;
  const bool common = std::all_of(ranks.begin(), ranks.end(), [&](const RankProgress& rank) {
    return first != nullptr && rank.open != nullptr && rank.open->sequence == first->sequence;
  });
  return common ? first : nullptr;
}

// Some made fewer calls than others: the others wait for the first that is missing.
void check_behind(const std::string& group, const std::vector<RankProgress>& ranks,
                  const std::vector<FlightDump>& dumps, std::vector<Finding>& findings) {
  const auto [behind, ahead] =
      std::minmax_element(ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.last < b.last; });
  if (behind->last == ahead->last || find_common_open(ranks) != nullptr) return;
  const RecordedCall* missing = nullptr;
  for (const FlightDump& dump : dumps)
    if (missing == nullptr || had_all_ranks(missing))
      if (const RecordedCall* call = find_call(dump, group, behind->last + 1)) missing = call;
  if (had_all_ranks(missing)) return;
  findings.push_back(hang_finding(
      fmt::format("rank {} is behind: it never came to call {} of group {}{}, where others wait",
                  behind->rank, behind->last + 1, group,
                  missing == nullptr ? "" : fmt::format(" ({} of {})", missing->name, missing->sizes)),
      fmt::format("{}: its last call is {} ({}); rank {} is at {}", short_name(behind->file), behind->last,
                  behind->call->name, ahead->rank, ahead->last)));
}

// All are in the same call and it is not the same: sizes or kinds differ.
void check_disagreement(const std::string& group, const std::vector<RankProgress>& ranks,
                        std::vector<Finding>& findings) {
  for (const RankProgress& rank : ranks) {
    const RankProgress& first = ranks.front();
    const bool same =
        rank.call->name == first.call->name &&
        (rank.call->sizes == first.call->sizes || rank.call->name.find("all_reduce") == std::string::npos);
    if (rank.last != first.last || same) continue;
    findings.push_back(
        hang_finding(fmt::format("ranks {} and {} disagree on call {} of group {}: {} of {} against {} of {}",
                                 first.rank, rank.rank, rank.last, group, first.call->name, first.call->sizes,
                                 rank.call->name, rank.call->sizes),
                     short_name(first.file)));
    return;
  }
}

std::string ranks_words(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 6;
  if (ranks.size() > kNamed) return fmt::format("{} ranks", ranks.size());
  std::vector<std::string> words;
  for (const int rank : ranks) words.push_back(fmt::format("{}", rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(words, ", ");
}

// Of the whole run, where dumps say who is in the group; else up to the last rank that left one.
std::set<int> members_of(const std::string& group, const std::vector<FlightDump>& dumps) {
  std::set<int> members;
  for (const FlightDump& dump : dumps)
    if (const auto found = dump.members.find(group); found != dump.members.end())
      members.insert(found->second.begin(), found->second.end());
  if (!members.empty()) return members;
  constexpr int kMostRanks = 1 << 16;
  int last = -1;
  for (const FlightDump& dump : dumps) last = std::max(last, dump.rank.value_or(-1));
  for (int rank = 0; rank <= last && last < kMostRanks; ++rank) members.insert(rank);
  return members;
}

// Ranks of the group of which there is no dump. None where a dump does not say whose it is.
std::vector<int> missing_ranks(const std::string& group, const std::vector<FlightDump>& dumps) {
  std::set<int> members = members_of(group, dumps);
  for (const FlightDump& dump : dumps) {
    if (!dump.rank) return {};
    members.erase(*dump.rank);
  }
  return {members.begin(), members.end()};
}

std::string call_words(const RecordedCall& call, const std::string& group) {
  const auto size = call.bytes           ? format_bytes(static_cast<Bytes>(*call.bytes))
                    : call.sizes.empty() ? std::string("unknown size")
                                         : call.sizes;
  return fmt::format("call {} of group {} ({} of {})", call.sequence, group, call.name, size);
}

// For how long at least a call has been open: until the latest time that any dump knows of.
std::int64_t open_for_ms(const RecordedCall& call, const std::vector<FlightDump>& dumps) {
  std::int64_t latest = call.made_ns.value_or(0);
  for (const FlightDump& dump : dumps)
    for (const RecordedCall& other : dump.calls) latest = std::max(latest, other.latest_ns.value_or(latest));
  return call.made_ns ? (latest - *call.made_ns) / 1'000'000 : 0;
}

// Those whose GPU has not begun it where that of others has.
std::vector<int> unbegun_ranks(const std::vector<RankProgress>& ranks) {
  std::vector<int> unbegun;
  for (const RankProgress& rank : ranks)
    if (rank.open->state == CallState::scheduled) unbegun.push_back(rank.rank);
  return unbegun.size() < ranks.size() ? unbegun : std::vector<int>();
}

void blame_missing(const std::vector<int>& missing, const std::string& call, Finding& finding) {
  finding.what =
      fmt::format("{} left no dump; the others are in {}, which never ended", ranks_words(missing), call);
  finding.fix =
      "look whether it died or hangs outside of PyTorch: the end of its log, dmesg (Xid, out of memory) of "
      "its node, its "
      "stack (py-spy dump); if it did leave one, give that too";
}

void blame_gpus(const std::vector<int>& unbegun, const std::string& call, Finding& finding) {
  finding.what = fmt::format("all ranks are in {}, which never ended: the GPU of {} never began it", call,
                             ranks_words(unbegun));
  finding.fix =
      "look at what that GPU was given before: a kernel that does not end, or a call of another group that "
      "waits for this "
      "one (give all groups' calls one order on all ranks); dmesg (Xid)";
}

void blame_way(const std::string& call, Finding& finding) {
  finding.what = fmt::format(
      "all ranks are in {}, which never ended: a link or a card between them, a peer whose GPU failed, or "
      "calls of two "
      "groups that wait for each other",
      call);
  finding.fix =
      "dmesg on every node (Xid, link down); NCCL_DEBUG=INFO for what NCCL itself says; inside a node ACS or "
      "IOMMU "
      "(NCCL_P2P_DISABLE=1 to try); calls of several groups in one order on all ranks";
}

// How soon after the call the last of the dumps was written, where all tell and that is sooner than PyTorch gives a call up, and so
// dumps by itself: somebody asked for them.
std::optional<std::int64_t> find_soon_ms(const RecordedCall& call, const std::vector<FlightDump>& dumps) {
  constexpr std::int64_t kSoonMs = 10'000;
  std::int64_t latest = 0;
  for (const FlightDump& dump : dumps) {
    if (!dump.written_ns || !call.made_ns || *dump.written_ns < *call.made_ns) return std::nullopt;
    latest = std::max(latest, (*dump.written_ns - *call.made_ns) / 1'000'000);
  }
  return latest < std::min(kSoonMs, call.timeout_ms.value_or(kSoonMs)) ? std::optional(latest) : std::nullopt;
}

// All came to one call and none ended it. PyTorch dumps when a call has timed out, so that is a hang; dumps that somebody
// asked for in one moment of a run that goes on look alike, unless times tell: those of calls, or of the files.
void check_stuck(const std::string& group, const std::vector<RankProgress>& ranks, const CaseFile& given,
                 Diagnosis& diagnosis) {
  constexpr std::int64_t kLongMs = 60'000;
  const auto& dumps = given.files.dumps;
  const RecordedCall* const call = find_common_open(ranks);
  if (call == nullptr) return;
  if (const auto soon = find_soon_ms(*call, dumps)) {
    diagnosis.notes.push_back(fmt::format(
        "no evidence of a hang: all ranks here are in {}, which was {:.1f} s old when the last dump was "
        "written, so that they were asked for; if dumps a minute later show the same call, it hangs",
        call_words(*call, group), static_cast<double>(*soon) / 1e3));
    return;
  }
  const auto missing = missing_ranks(group, dumps), unbegun = unbegun_ranks(ranks);
  const std::int64_t waited = open_for_ms(*call, dumps);
  const bool timed_out = waited >= call->timeout_ms.value_or(kLongMs);
  Finding finding = hang_finding(
      "", fmt::format("{}: call {} is {}{}", short_name(ranks.front().file), call->sequence,
                      to_string(call->state),
                      timed_out ? fmt::format(" for {} s at least", waited / 1000) : std::string()));
  finding.sure = timed_out ? Certainty::certain : Certainty::likely;
  if (!timed_out) finding.cost_note += ", unless it was dumped on request and goes on";
  const std::string words = call_words(*call, group);
  if (!missing.empty())
    blame_missing(missing, words, finding);
  else if (!unbegun.empty())
    blame_gpus(unbegun, words, finding);
  else
    blame_way(words, finding);
  // Gradwire's own file is written while the run goes on, and has an open call at most times.
  const bool dumped = call->made_ns.has_value() || call->name.starts_with("nccl");
  (dumped ? diagnosis.findings : diagnosis.hints).push_back(std::move(finding));
}

// One rank's dump has a call that has not ended, and others are in the group: theirs tell who is missing there.
void hint_at_open_call(const FlightDump& dump, std::vector<Finding>& hints) {
  for (const auto& [group, ranks] : progress_of({&dump, 1})) {
    const auto members = dump.members.find(group);
    const RecordedCall* const call = ranks.front().open;
    if (call == nullptr || !call->made_ns || members == dump.members.end() || members->second.size() < 2)
      continue;
    Finding hint = hang_finding(fmt::format("{} is in {}, which has not ended",
                                            ranks_words({ranks.front().rank}), call_words(*call, group)),
                                short_name(dump.file));
    hint.sure = Certainty::likely;
    hint.fix = fmt::format("give the dumps of all {} ranks: who is not in that call is the one they wait for",
                           members->second.size());
    hints.push_back(std::move(hint));
  }
}

}  // namespace

void add_flight_findings(const CaseFile& given, Diagnosis& diagnosis) {
  if (given.files.dumps.size() == 1) hint_at_open_call(given.files.dumps[0], diagnosis.hints);
  if (given.files.dumps.size() < 2) return;
  for (const auto& [group, ranks] : progress_of(given.files.dumps)) {
    if (ranks.size() < 2) continue;
    const std::size_t before = diagnosis.findings.size();
    check_behind(group, ranks, given.files.dumps, diagnosis.findings);
    check_disagreement(group, ranks, diagnosis.findings);
    if (diagnosis.findings.size() == before) check_stuck(group, ranks, given, diagnosis);
  }
}

}  // namespace gradwire
