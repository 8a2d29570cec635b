#include "base/similar.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::size_t kLongestWord = 100;  // a longer one is no slip of the finger
constexpr std::size_t kMostNear = 3;
constexpr std::size_t kLeastBeginning = 3;  // letters of a word that is taken for the beginning of another

// Levenshtein's distance with swapped neighbours as one edit (optimal string alignment), three rows at a
// time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last.back();
}

// "GPT-2" and "gpt2" are one word: how it is written is no slip.
std::string plain_letters(std::string_view word) {
  std::string plain = lower_case(word);
  std::erase_if(plain, [](unsigned char c) { return std::ispunct(c) != 0 || std::isspace(c) != 0; });
  return plain;
}

std::size_t edits_between(std::string_view word, std::string_view candidate) {
  const std::size_t edits =
      std::min(distance(word, candidate), distance(plain_letters(word), plain_letters(candidate)));
  const bool beginning = word.size() >= kLeastBeginning && candidate.starts_with(word);
  return beginning ? std::min<std::size_t>(edits, 1) : edits;
}

}  // namespace

std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : known)
    if (const std::size_t edits = edits_between(word, candidate); edits <= most && edits < candidate.size())
      near.emplace_back(edits, candidate);
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> words;
  for (const auto& [edits, candidate] : near)
    if (words.size() < kMostNear && edits == near[0].first) words.push_back(candidate);
  return words;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string> words = near_words(word, known);
  return words.empty() ? "" : " (did you mean " + join(words, " or ") + "?)";
}

}  // namespace gradwire
