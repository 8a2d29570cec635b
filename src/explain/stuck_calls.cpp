// Ranks that waited in a call until PyTorch gave it up, by what each says as it dies: who waited where, and what that tells.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "explain/log_words.h"

namespace gradwire {
namespace {

template <typename Number>
std::optional<Number> find_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = text.substr(at + word.size());
  return find_integer<Number>(digits.substr(0, digits.find_first_not_of("0123456789")));
}

struct StuckCall {
  std::string operation;
  long sequence = 0;  // PyTorch's count of the calls of a group
  std::string words() const { return fmt::format("{} {}", operation, sequence); }
};

// "[rank3]:[E... ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4123,
// OpType=ALLREDUCE, ...", "[PG ID 0 PG GUID 0(default_pg) Rank 3] ...": the rank by its call; the first that it says.
std::map<int, StuckCall> stuck_calls(const NcclLog& log) {
  std::map<int, StuckCall> calls;
  for (const SaidInLog& said : log.failures) {
    const auto words = std::string_view(said.text).substr(0, said.text.find("] Watchdog caught"));
    const auto at = words.rfind("Rank ");
    const auto rank =
        at == std::string_view::npos ? std::nullopt : find_after<int>(words.substr(at), "Rank ");
    const auto sequence = find_after<long>(said.text, "SeqNum=");
    const auto operation = said.text.find("OpType=");
    if (!rank || !sequence || operation == std::string::npos) continue;
    const auto word = std::string_view(said.text).substr(operation + 7);
    calls.emplace(*rank, StuckCall{std::string(word.substr(0, word.find_first_of(",) "))), *sequence});
  }
  return calls;
}

std::string rank_list(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 6;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) names.push_back(std::to_string(ranks[i]));
  if (ranks.size() > kNamed) names.emplace_back("...");
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

// What ranks said as they died, and whether that leaves nothing else open: ranks that say nothing may have nobody to say it.
struct Stuck {
  std::string what;
  bool proven = false;
};

// Who waited in which call; nothing where fewer than two said it.
std::optional<Stuck> who_is_stuck(const NcclLog& log) {
  std::map<std::string, std::vector<int>> ranks;
  const auto calls = stuck_calls(log);
  for (const auto& [rank, call] : calls) ranks[call.words()].push_back(rank);
  if (calls.size() < 2) return std::nullopt;
  if (ranks.size() == 1 && log.ranks == static_cast<int>(calls.size()))
    return Stuck{fmt::format("all {} ranks waited in {}, and it did not end: what carries it failed, or one "
                             "came much too late",
                             calls.size(), ranks.begin()->first),
                 true};
  if (ranks.size() == 1)
    return Stuck{fmt::format("a rank did not come to {}, in which {} waited", ranks.begin()->first,
                             rank_list(ranks.begin()->second)),
                 false};
  std::vector<std::string> parts;
  for (const auto& [call, who] : ranks) parts.push_back(fmt::format("{} in {}", rank_list(who), call));
  return Stuck{"ranks waited for each other in different collectives: " + join(parts, "; "), true};
}

// Nobody is missing: all ranks are in the same call, of the first that they make, and it does not end. Between GPUs of one
// node that is peer access which the driver grants and the machine does not carry.
bool hangs_in_transfer(const NcclLog& log) {
  constexpr long kFirstCalls = 10;
  const auto calls = stuck_calls(log);
  std::set<std::string> different;
  for (const auto& [rank, call] : calls) different.insert(call.words());
  return different.size() == 1 && log.ranks == static_cast<int>(calls.size()) && !log.spans_nodes() &&
         calls.begin()->second.sequence <= kFirstCalls && log.find(Transport::p2p) != nullptr;
}

void blame_peer_access(const NcclLog& log, Finding& finding) {
  finding.rule = "R13";
  finding.sure = Certainty::likely;
  finding.what = fmt::format(
      "all {} ranks came to {}, and it does not end: peer access between GPUs is granted and carries nothing "
      "(ACS or IOMMU of the board, or the driver)",
      *log.ranks, stuck_calls(log).begin()->second.words());
  finding.fix =
      "NCCL_P2P_DISABLE=1 tells: if it runs then, turn ACS and IOMMU off in the BIOS (lspci -vv: ACSCtl; "
      "iommu=off), "
      "update the driver";
}

}  // namespace

void blame_stuck_calls(const NcclLog& run, Finding& finding) {
  if (const auto stuck = who_is_stuck(run)) {
    finding.what = stuck->what;
    finding.sure = stuck->proven ? Certainty::certain : Certainty::likely;
  }
  if (hangs_in_transfer(run)) blame_peer_access(run, finding);
}

}  // namespace gradwire
