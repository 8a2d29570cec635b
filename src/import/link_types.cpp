#include "import/link_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

std::vector<std::string_view> row_words(std::string_view line) {
  std::vector<std::string_view> words;
  for (const auto word : split(line, ' '))
    if (const auto text = trim(word); !text.empty()) words.push_back(text);
  return words;
}

// "==== Link Type between two GPUs ====" of rocm-smi, "LINK TYPE TABLE:" of amd-smi.
std::size_t find_heading(std::string_view text) {
  return std::min(text.find("Link Type between two GPUs"), text.find("LINK TYPE TABLE"));
}

// "GPU0   0   XGMI   PCIE", "0000:05:00.0 SELF XGMI PCIE": cells behind the name of a GPU.
std::vector<std::string_view> link_cells(std::string_view line) {
  auto words = row_words(line);
  const bool row =
      words.size() > 1 && (words[0].starts_with("GPU") || words[0].find(':') != std::string_view::npos);
  const auto is_cell = [](std::string_view word) {
    return word == "XGMI" || word == "PCIE" || word == "SELF" || word == "0" || word == "N/A" ||
           word == "UNKNOWN";
  };
  if (!row || !std::all_of(words.begin() + 1, words.end(), is_cell)) return {};
  words.erase(words.begin());
  return words;
}

}  // namespace

bool looks_like_link_types(std::string_view text) { return find_heading(text) != std::string_view::npos; }

LinkTypes parse_link_types(std::string_view text, const std::string& name) {
  LinkTypes types;
  types.file = name;
  std::size_t columns = 0;
  int ordered_xgmi = 0, ordered_pcie = 0;
  const auto heading = find_heading(text);
  for (const auto line : split(text.substr(std::min(heading, text.size())), '\n')) {
    const auto cells = link_cells(line);
    if (cells.empty() && types.gpus > 0) break;  // the table is over
    if (cells.empty()) continue;
    if (columns != 0 && cells.size() != columns)
      throw ConfigError(fmt::format("{}: a row of the link types has {} cells, the one above {}", name,
                                    cells.size(), columns));
    columns = cells.size();
    ++types.gpus;
    ordered_xgmi += static_cast<int>(std::count(cells.begin(), cells.end(), "XGMI"));
    ordered_pcie += static_cast<int>(std::count(cells.begin(), cells.end(), "PCIE"));
  }
  if (types.gpus == 0 || static_cast<std::size_t>(types.gpus) != columns)
    throw ConfigError(
        fmt::format("{}: {} rows of link types for {} GPUs: save all of it", name, types.gpus, columns));
  types.xgmi = ordered_xgmi / 2;
  types.pcie = ordered_pcie / 2;
  return types;
}

}  // namespace gradwire
