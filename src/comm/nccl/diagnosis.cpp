#include "comm/nccl/diagnosis.h"

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr Seconds kMoment = 1;  // for the others to notice too

std::string what_failed(const FailedCall& failure) {
  return failure.call ? describe(*failure.call) : "making or finishing the nccl communicator";
}

std::exception_ptr peer_lost(const FailedCall& failure, Rank peer, const Roster& roster) {
  return std::make_exception_ptr(
      PeerLost(peer, fmt::format("{} is gone; rank {} was in {}", roster.describe(peer), failure.rank,
                                 what_failed(failure))));
}

std::exception_ptr peer_left(const FailedCall& failure, Rank peer) {
  return std::make_exception_ptr(
      PeerLost(peer, fmt::format("rank {} aborted its communicator; rank {} was in {}", peer, failure.rank,
                                 what_failed(failure))));
}

std::exception_ptr plain(const FailedCall& failure, const std::string& others) {
  const auto text =
      fmt::format("rank {} in {}: {}{}", failure.rank, what_failed(failure), failure.symptom, others);
  if (failure.timed_out) return std::make_exception_ptr(Timeout(text));
  return std::make_exception_ptr(TransportError(text));
}

// Whether two ranks' calls have to be the same: those that not all ranks make don't.
bool in_one_call(const Signature& a, const Signature& b) {
  return a.sequence == b.sequence && !is_point_to_point(a.kind) && !is_point_to_point(b.kind);
}

std::string list(const std::vector<std::string>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", join(ranks, ", "));
}

// "; in this call too: rank 1; nothing heard from rank 2"
std::string tell_others(const FailedCall& failure, const std::vector<std::optional<Signature>>& stuck) {
  std::vector<std::string> here, elsewhere, silent;
  for (std::size_t rank = 0; rank < stuck.size(); ++rank) {
    if (static_cast<Rank>(rank) == failure.rank) continue;
    if (!stuck[rank])
      silent.push_back(std::to_string(rank));
    else if (*stuck[rank] == *failure.call)
      here.push_back(std::to_string(rank));
    else
      elsewhere.push_back(fmt::format("rank {} is in {}", rank, describe(*stuck[rank])));
  }
  std::string text;
  if (!here.empty()) text += fmt::format("; in this call too: {}", list(here));
  if (!elsewhere.empty()) text += fmt::format("; but {}", join(elsewhere, ", "));
  if (!silent.empty()) text += fmt::format("; waited for {}, from which nothing is heard", list(silent));
  return text;
}

}  // namespace

std::exception_ptr diagnose(const FailedCall& failure, Roster& roster) {
  const auto account = roster.take_account(failure.call.value_or(Signature{}),
                                           {failure.timed_out, failure.symptom}, Deadline::after(kMoment));
  if (account.left) return peer_left(failure, *account.left);
  if (account.gone) return peer_lost(failure, *account.gone, roster);
  if (!failure.call) return plain(failure, "");
  const auto& stuck = account.stuck;
  for (std::size_t rank = 0; rank < stuck.size(); ++rank)
    if (stuck[rank] && in_one_call(*stuck[rank], *failure.call) && *stuck[rank] != *failure.call)
      return std::make_exception_ptr(
          Mismatch(describe_mismatch(failure.rank, *failure.call, static_cast<Rank>(rank), *stuck[rank])));
  return plain(failure, tell_others(failure, stuck));
}

}  // namespace gradwire
