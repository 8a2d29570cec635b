#include "import/known_failures.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "import/ending_failures.h"
#include "import/gpu_failures.h"
#include "import/memory_failures.h"
#include "import/network_failures.h"
#include "import/program_failures.h"
#include "import/quick_look.h"
#include "import/rank_failures.h"
#include "import/setup_failures.h"

namespace gradwire {
namespace {

// One idea each; asked in this order.
constexpr std::span<const KnownFailure> kTables[] = {kMemoryFailures, kGpuFailures,     kSetupFailures,
                                                     kRankFailures,   kNetworkFailures, kEndingFailures,
                                                     kProgramFailures};

constexpr std::size_t count_failures() {
  std::size_t count = 0;
  for (const auto table : kTables) count += table.size();
  return count;
}

constexpr std::string_view longest_part(std::string_view sign) {
  std::string_view longest;
  while (true) {
    const auto star = sign.find('*');
    if (sign.substr(0, star).size() > longest.size()) longest = sign.substr(0, star);
    if (star == std::string_view::npos) return longest;
    sign.remove_prefix(star + 1);
  }
}

// What anybody may say, and what readers of logs ask for besides.
constexpr auto make_look() {
  QuickLook<count_failures() + std::size(kWordsOfTorch) + 2> look;
  look.add(kLastError);
  look.add(kTraceback);
  for (const std::string_view word : kWordsOfTorch) look.add(word);
  for (const auto table : kTables)
    for (const KnownFailure& failure : table)
      if (failure.scope == Scope::any) look.add(longest_part(failure.sign));
  return look;
}

constexpr auto kLook = make_look();

bool fits(std::string_view sign, std::string_view text) {
  for (;;) {
    const auto star = sign.find('*');
    const auto at = text.find(sign.substr(0, star));
    if (at == std::string_view::npos) return false;
    if (star == std::string_view::npos) return true;
    text.remove_prefix(at + star);
    sign.remove_prefix(star + 1);
  }
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

// The first of all tables, in small letters; null: none.
template <typename Asked>
const KnownFailure* find_first(std::string_view small, const Asked& is_asked) {
  const auto fitting = [&](const KnownFailure& failure) {
    return is_asked(failure) && fits(failure.sign, small);
  };
  for (const auto table : kTables)
    if (const auto known = std::find_if(table.begin(), table.end(), fitting); known != table.end())
      return &*known;
  return nullptr;
}

bool is_told_by_anybody(std::string_view line) {
  return find_first(line, [](const KnownFailure& failure) { return failure.scope == Scope::any; }) != nullptr;
}

// "NVRM: Xid (PCI:0000:dc:00): 45, ... caused by previous Xid 149": what it tells of is the one before.
std::string first_event_of(std::string small) {
  constexpr std::string_view kBefore = "caused by previous xid ";
  const auto at = small.find(kBefore);
  if (at == std::string::npos) return small;
  const auto number = small.substr(at + kBefore.size());
  return "nvrm: xid (): " + number.substr(0, number.find_first_not_of("0123456789")) + ",";
}

}  // namespace

const Meaning& silent_peer() { return kSilentPeer; }

const KnownFailure* find_known_failure(std::string_view text) {
  return find_first(first_event_of(in_small_letters(text)), [](const KnownFailure&) { return true; });
}

const KnownFailure& as_cause(const KnownFailure& failure) {
  static constexpr KnownFailure kFullGpuKills = {"", Told::usual_cause, kFullGpu, Scope::any};
  const bool full = std::string_view(failure.meaning.what) == kFullGpu.what;
  return full && failure.told == Told::hint ? kFullGpuKills : failure;
}

const KnownFailure& as_echo(const KnownFailure& failure) {
  static constexpr KnownFailure kEchoes = {"", Told::unexplained, kDiedElsewhere, Scope::any};
  return std::string_view(failure.meaning.what) == kNoReason.what ? kEchoes : failure;
}

bool may_tell_of_failure(std::string_view text) { return kLook.may_be_in(text); }

bool tells_of_failure(std::string_view text) {
  if (!may_tell_of_failure(text)) return false;
  const std::string small = in_small_letters(text);
  for (std::string_view rest = small;;) {
    const auto end = rest.find('\n');
    if (is_told_by_anybody(rest.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace gradwire
