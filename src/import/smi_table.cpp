#include "import/smi_table.h"

#include <algorithm>

#include "base/text.h"
#include "topo/import/matrix_words.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostProcesses = 10000;

// "00000000:3D:00.0"
bool is_bus(std::string_view word) {
  return word.size() == 16 && word[8] == ':' && word[11] == ':' && word[14] == '.';
}

// "0 N/A N/A 331903 C python 1733MiB"; before driver 450 without the two of MIG. "C+G" computes too.
void add_process(const Words& words, int line, SmiTable& table) {
  const auto type =
      std::find_if(words.begin(), words.end(), [](auto word) { return word == "C" || word == "C+G"; });
  if (words.size() < 5 || type == words.end() || type == words.begin() || !words.back().ends_with("MiB"))
    return;
  const auto gpu = find_integer<int>(words[0]);
  const auto process = find_integer<long>(*std::prev(type));
  const auto memory = find_integer<int>(words.back().substr(0, words.back().size() - 3));
  if (!gpu || !process || !memory || table.processes.size() >= kMostProcesses) return;
  table.processes.push_back({*gpu, *process, *memory, line});
}

}  // namespace

bool looks_like_smi_table(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const bool processes = has("| Processes:") && has("Process name");  // of which people paste the lower part
  return (has("NVIDIA-SMI ") && has("Driver Version:") && has("Bus-Id")) || processes;
}

SmiTable parse_smi_table(std::string_view text, const std::string& name) {
  SmiTable table;
  table.file = name;
  int line = 0;
  const std::string clean = without_escapes(text);
  for (const auto raw : split(clean, '\n')) {
    ++line;
    const Words words = matrix_words(raw);
    if (std::any_of(words.begin(), words.end(), is_bus)) ++table.gpus;
    add_process(words, line, table);
  }
  return table;
}

}  // namespace gradwire
