#include "import/known_failures.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "import/failure_table.h"
#include "import/quick_look.h"

namespace gradwire {
namespace {

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
  QuickLook<std::size(kFailures) + std::size(kWordsOfTorch) + 2> look;
  look.add(kLastError);
  look.add(kTraceback);
  for (const std::string_view word : kWordsOfTorch) look.add(word);
  for (const KnownFailure& failure : kFailures)
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

bool is_told_by_anybody(std::string_view line) {
  return std::any_of(std::begin(kFailures), std::end(kFailures), [&](const KnownFailure& failure) {
    return failure.scope == Scope::any && fits(failure.sign, line);
  });
}

}  // namespace

const Meaning& silent_peer() { return kSilentPeer; }

const KnownFailure* find_known_failure(std::string_view text) {
  const std::string small = in_small_letters(text);
  const auto known = std::find_if(std::begin(kFailures), std::end(kFailures),
                                  [&](const KnownFailure& failure) { return fits(failure.sign, small); });
  return known == std::end(kFailures) ? nullptr : known;
}

const KnownFailure& as_cause(const KnownFailure& failure) {
  static constexpr KnownFailure kFullGpuKills = {"", Told::usual_cause, kFullGpu, Scope::any};
  const bool full = std::string_view(failure.meaning.what) == kFullGpu.what;
  return full && failure.told == Told::hint ? kFullGpuKills : failure;
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
