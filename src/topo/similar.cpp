#include "topo/similar.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace gradwire {
namespace {

// Levenshtein distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 100) return {};
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : known) {
    const std::size_t edits = distance(word, candidate);
    if (edits <= std::max<std::size_t>(2, word.size() / 3)) near.emplace_back(edits, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > 3) near.resize(3);
  if (near.empty()) return {};
  std::vector<std::string> words;
  for (const auto& [edits, candidate] : near) words.push_back(candidate);
  return " (did you mean " + join(words, " or ") + "?)";
}

}  // namespace gradwire
