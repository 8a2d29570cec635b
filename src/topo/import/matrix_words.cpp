#include "topo/import/matrix_words.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "topo/path.h"

namespace gradwire {

std::string without_escapes(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
      continue;
    }
    result += text[i] == '|' || text[i] == '\r' || text[i] == '`' ? ' ' : text[i];
  }
  return result;
}

namespace {

// Length of the cell or device name that a word begins with; 0 if none.
std::size_t known_prefix(std::string_view word) {
  const auto digits = [&](std::size_t from) {
    std::size_t end = from;
    while (end < word.size() && std::isdigit(static_cast<unsigned char>(word[end])) != 0) ++end;
    return end > from ? end : 0;
  };
  for (const std::string_view code : {"NODE", "SYS", "SOC", "PIX", "PXB", "PHB", "X"})
    if (word.starts_with(code)) return code.size();
  for (const std::string_view name : {"GPU", "NIC", "NV"})
    if (word.starts_with(name)) return digits(name.size());
  return 0;
}

// Pasting can lose the blank between two columns: "PXBNODE", "NIC1NIC2".
void add_unglued(std::string_view word, Words& words) {
  Words parts;
  for (std::string_view rest = word; !rest.empty();) {
    const std::size_t size = known_prefix(rest);
    if (size == 0) return words.push_back(word);
    parts.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  words.insert(words.end(), parts.begin(), parts.end());
}

// "2024-05-01T10:00:00.1Z", "10:00:00"
bool is_time(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0 &&
         (std::count(word.begin(), word.end(), ':') == 2 || std::count(word.begin(), word.end(), '-') == 2);
}

// What stands before every line of a quoted text, of a task's output, of a container's: "> ", "0: ", "[pod/a-0/main] ",
// "2024-05-01T10:00:00.1Z stderr F ".
bool is_label(std::string_view word) {
  return word == ">" || word == "stdout" || word == "stderr" || word == "F" || word.starts_with('[') ||
         word.starts_with('(') || word.ends_with(')') || is_time(word) ||
         (word.ends_with(':') && find_integer<int>(word.substr(0, word.size() - 1)).has_value());
}

// "[1,0]<stdout>:GPU0 ..." of mpirun
std::string_view without_tag(std::string_view line) {
  const auto end = line.find(">:");
  return line.starts_with('[') && end < line.find(' ') ? line.substr(end + 2) : line;
}

// "nvidia-smi topo -m        GPU0 GPU1 ...": pasting can lose the end of the line between the two.
std::string_view behind_command(std::string_view line) {
  constexpr std::string_view kCommand = "topo -m ";
  const auto at = line.find(kCommand);
  return at == std::string_view::npos ? line : line.substr(at + kCommand.size());
}

}  // namespace

Words matrix_words(std::string_view line) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  Words words;
  line = behind_command(without_tag(line));
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = i;
    while (i < line.size() && !is_space(line[i])) ++i;
    if (i > begin) add_unglued(line.substr(begin, i - begin), words);
    while (i < line.size() && is_space(line[i])) ++i;
  }
  words.erase(words.begin(), std::find_if_not(words.begin(), words.end(), is_label));
  return words;
}

bool names_a_gpu(std::string_view text) {
  for (auto at = text.find("GPU"); at != std::string_view::npos; at = text.find("GPU", at + 3))
    if (at + 3 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 3])) != 0) return true;
  return false;
}

bool is_gpu_name(std::string_view word) {
  return word.starts_with("GPU") && find_integer<int>(word.substr(3));
}

bool is_number(std::string_view word) { return find_integer<long>(word).has_value(); }

bool is_p2p_status(std::string_view word) {
  constexpr std::string_view kStatuses[] = {"OK", "CNS", "GNS", "TNS", "NS", "U", "DR"};
  return std::find(std::begin(kStatuses), std::end(kStatuses), word) != std::end(kStatuses);
}

// "GPU0 GPU1 mlx5_0 CPU Affinity"
bool is_matrix_header(const Words& words) {
  if (words.empty() || !is_gpu_name(words[0])) return false;
  if (words.size() == 1 || words[1] == "CPU" || words[1] == "...") return true;
  return !find_path_class(words[1]) && !is_p2p_status(words[1]) && !is_number(words[1]);
}

std::vector<std::string> column_names(const Words& header) {
  std::vector<std::string> names;
  for (const auto word : header) {
    if (word == "CPU" || word == "NUMA" || word == "GPU" || word == "..." || word == "…") break;
    names.emplace_back(word);
  }
  return names;
}

}  // namespace gradwire
