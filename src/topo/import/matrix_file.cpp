#include "topo/import/machine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

struct Nvlinks {
  std::set<int> counts;   // that occur between GPUs
  bool all_pairs = true;  // every two GPUs have some
};

Nvlinks summary_of_nvlinks(const TopoMatrix& matrix) {
  Nvlinks result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.gpus); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const std::string& cell = matrix.cells[i][j];
      const auto count =
          cell.starts_with("NV") ? find_integer<int>(std::string_view(cell).substr(2)) : std::nullopt;
      if (count)
        result.counts.insert(*count);
      else
        result.all_pairs = false;
    }
  return result;
}

}  // namespace

std::string guess_gpu(const TopoMatrix& matrix) {
  const Nvlinks nvlinks = summary_of_nvlinks(matrix);
  if (nvlinks.counts.empty()) return "";
  const int most = *nvlinks.counts.rbegin();
  if (nvlinks.counts.size() > 1 && most <= 2) return "v100-sxm";  // hybrid cube mesh
  if (most >= 13) return "h100-sxm";
  if (most == 12) return nvlinks.all_pairs && matrix.gpus > 2 ? "a100-sxm-80" : "a100-pcie-80";
  if (most == 8) return "a800-sxm-80";
  if (most == 6) return matrix.gpus <= 4 ? "h100-sxm" : "v100-sxm";
  if (most == 4) return nvlinks.all_pairs && matrix.gpus > 2 ? "a100-sxm-80" : "a6000";
  if (most == 2) return nvlinks.all_pairs && matrix.gpus > 2 ? "v100-sxm" : "rtx2080ti";
  return "";
}

MatrixNode node_from_matrix(std::string_view text, const std::string& where, std::string_view gpu) {
  MatrixNode result;
  NodeSpec& node = result.node;
  node.name = where;
  node.matrix = parse_matrix(text, where);
  node.gpus = node.matrix->gpus;
  for (const std::string& oddity : node.matrix->oddities)
    result.notes.push_back("odd in the report: " + oddity);
  if (!gpu.empty()) {
    node.gpu = find_gpu(gpu).id;
  } else if (const auto named = find_gpu_by_name(text)) {
    node.gpu = named->id;
  } else {
    node.gpu = guess_gpu(*node.matrix);
    node.gpu_guessed = !node.gpu.empty();
    if (node.gpu_guessed)
      result.notes.push_back(fmt::format(
          "the report does not name the GPU: its NVLinks suggest {}; say {}:GPU if not", node.gpu, where));
  }
  return result;
}

}  // namespace gradwire
