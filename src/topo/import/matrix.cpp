#include "topo/import/matrix.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "topo/import/matrix_words.h"
#include "topo/path.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostColumns = 256;

class MatrixReader {
 public:
  MatrixReader(std::string_view text, std::string_view where) : text_(without_escapes(text)), where_(where) {}

  TopoMatrix read() {
    for (const auto line : split(text_, '\n')) read_line(matrix_words(line));
    finish();
    return std::move(matrix_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(fmt::format("{}: {}", where_, what));
  }

  void read_line(const Words& words) {
    if (words.empty()) return;
    if (matrix_.names.empty()) {
      if (is_matrix_header(words)) start(words);
      return;
    }
    read_nic_legend(words);
    const auto name = std::find(matrix_.names.begin(), matrix_.names.end(), words[0]);
    if (name != matrix_.names.end() && !complete_ && !is_matrix_header(words))
      read_row(static_cast<std::size_t>(name - matrix_.names.begin()), words);
  }

  void start(const Words& header) {
    matrix_.names = column_names(header);
    if (matrix_.names.size() > kMostColumns)
      fail(fmt::format("a matrix of {} columns is no machine", matrix_.names.size()));
    const auto first_nic = std::find_if_not(matrix_.names.begin(), matrix_.names.end(), is_gpu_name);
    if (std::any_of(first_nic, matrix_.names.end(), is_gpu_name))
      fail("a GPU column stands behind a NIC column");
    matrix_.gpus = static_cast<int>(first_nic - matrix_.names.begin());
    matrix_.cells.resize(matrix_.names.size());
    for (auto nic = first_nic; nic != matrix_.names.end(); ++nic) matrix_.nic_models.push_back(*nic);
    affinity_ = std::find(header.begin(), header.end(), "Affinity") != header.end();
  }

  void read_row(std::size_t row, const Words& words) {
    auto& cells = matrix_.cells[row];
    if (breaks_off(row, words)) return;
    if (!cells.empty()) fail(fmt::format("the row of {} is there twice", matrix_.names[row]));
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) {
      if (i + 1 >= words.size() || words[i + 1] == "..." || words[i + 1] == "…")
        fail(fmt::format(
            "the matrix is cut off: the row of {} ends before column {}, {} of {} cells are there; "
            "save all of `nvidia-smi topo -m`",
            matrix_.names[row], matrix_.names[i], i, matrix_.names.size()));
      cells.push_back(cell(row, i, words[i + 1]));
    }
    if (affinity_ && row < static_cast<std::size_t>(matrix_.gpus)) read_affinity(row, words);
    const bool all =
        std::none_of(matrix_.cells.begin(), matrix_.cells.end(), [](const auto& r) { return r.empty(); });
    complete_ = all;
  }

  // The last row that is there, of a NIC, ends early: the text was cut, and what it lacks stands in the other
  // rows.
  bool breaks_off(std::size_t row, const Words& words) {
    const bool cut = words.size() <= matrix_.names.size() || !find_path_class(words[matrix_.names.size()]);
    const bool gpus_whole = std::none_of(matrix_.cells.begin(), matrix_.cells.begin() + matrix_.gpus,
                                         [](const auto& cells) { return cells.empty(); });
    if (!cut || row < static_cast<std::size_t>(matrix_.gpus) || !gpus_whole) return false;
    cut_at_ = row;
    return true;
  }

  std::string cell(std::size_t row, std::size_t column, std::string_view word) const {
    const auto path = find_path_class(word);
    const bool known = path && *path != PathClass::nvb && *path != PathClass::net && word != "NVL";
    if (!known) {
      if (is_p2p_status(word))
        fail(
            "this is `nvidia-smi topo -p2p`, which says where peer access works; save `nvidia-smi topo -m` "
            "instead");
      if (is_number(word))
        fail("this is not from nvidia-smi (numbers in the cells, as rocm-smi prints them)");
      fail(fmt::format("{}-{} is '{}': it must be X, NV1 to NV18, PIX, PXB, PHB, NODE or SYS",
                       matrix_.names[row], matrix_.names[column], word));
    }
    if ((*path == PathClass::self) != (row == column))
      fail(fmt::format("{}-{} is '{}': only a device with itself is X (a column may be missing)",
                       matrix_.names[row], matrix_.names[column], word));
    return *path == PathClass::nvl ? std::string(word) : std::string(to_string(*path));
  }

  void read_affinity(std::size_t row, const Words& words) {
    const std::size_t at = matrix_.names.size() + 1;
    matrix_.cpu_affinity.resize(static_cast<std::size_t>(matrix_.gpus));
    matrix_.numa_affinity.resize(static_cast<std::size_t>(matrix_.gpus));
    if (at < words.size()) matrix_.cpu_affinity[row] = std::string(words[at]);
    if (at + 1 < words.size() && words[at + 1] != "N/A")
      matrix_.numa_affinity[row] = std::string(words[at + 1]);
  }

  void read_nic_legend(const Words& words) {  // "NIC0: mlx5_0"
    if (words.size() != 2 || !words[0].ends_with(':')) return;
    const auto name = std::find(matrix_.names.begin() + matrix_.gpus, matrix_.names.end(),
                                words[0].substr(0, words[0].size() - 1));
    if (name == matrix_.names.end()) return;
    matrix_.nic_models[static_cast<std::size_t>(name - matrix_.names.begin() - matrix_.gpus)] =
        std::string(words[1]);
  }

  void finish() {
    if (matrix_.names.empty())
      fail("there is no matrix here: no line names the columns GPU0 GPU1 ... as `nvidia-smi topo -m` does");
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < matrix_.names.size(); ++i)
      if (matrix_.cells[i].empty()) missing.push_back(matrix_.names[i]);
    const auto nics = matrix_.names.size() - static_cast<std::size_t>(matrix_.gpus);
    if (missing.size() == nics && nics > 0 &&
        missing.front() == matrix_.names[static_cast<std::size_t>(matrix_.gpus)])
      cut_at_ = static_cast<std::size_t>(matrix_.gpus);
    const bool cut =
        cut_at_ && missing.size() == matrix_.names.size() - *cut_at_;  // the row may have come again
    if (cut && missing.front() == matrix_.names[*cut_at_])
      complete_from_columns(missing);
    else if (!missing.empty())
      fail(fmt::format("the matrix has {} columns but no row for {}: save all of `nvidia-smi topo -m`",
                       matrix_.names.size(), join(missing, ", ")));
    note_oddities();
  }

  void complete_from_columns(const std::vector<std::string>& missing) {
    matrix_.oddities.push_back(
        fmt::format("the text breaks off at the row of {}: {} read from the other rows", missing.front(),
                    missing.size() == 1 ? "it is" : join(missing, ", ") + " are"));
    for (std::size_t i = *cut_at_; i < matrix_.names.size(); ++i) {
      for (std::size_t j = 0; j < *cut_at_; ++j) matrix_.cells[i].push_back(matrix_.cells[j][i]);
      for (std::size_t j = *cut_at_; j < matrix_.names.size(); ++j)
        matrix_.cells[i].push_back(i == j ? "X" : through_a_gpu(i, j));
    }
  }

  // In a tree two devices are as near as the farther of them is to a third that is near both.
  std::string through_a_gpu(std::size_t i, std::size_t j) const {
    PathClass nearest = PathClass::sys;
    for (std::size_t gpu = 0; gpu < static_cast<std::size_t>(matrix_.gpus); ++gpu)
      nearest = std::min(nearest, std::max(*find_path_class(matrix_.cells[gpu][i]),
                                           *find_path_class(matrix_.cells[gpu][j])));
    return std::string(to_string(nearest));
  }

  void note_oddities() {
    for (std::size_t i = 0; i < matrix_.names.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (matrix_.cells[i][j] != matrix_.cells[j][i])
          matrix_.oddities.push_back(fmt::format("{}-{} is {} but {}-{} is {}", matrix_.names[j],
                                                 matrix_.names[i], matrix_.cells[j][i], matrix_.names[i],
                                                 matrix_.names[j], matrix_.cells[i][j]));
  }

  std::string text_, where_;
  TopoMatrix matrix_;
  std::optional<std::size_t> cut_at_;  // row
  bool affinity_ = false, complete_ = false;
};

}  // namespace

TopoMatrix parse_matrix(std::string_view text, std::string_view where) {
  return MatrixReader(text, where).read();
}

TopoMatrix parse_matrix(const std::vector<std::string>& lines, std::string_view where) {
  return parse_matrix(join(lines, "\n"), where);
}

bool looks_like_matrix(std::string_view text) {
  if (!names_a_gpu(text)) return false;
  const std::string clean = without_escapes(text);
  for (const auto line : split(clean, '\n'))
    if (names_a_gpu(line) && is_matrix_header(matrix_words(line))) return true;
  return false;
}

}  // namespace gradwire
