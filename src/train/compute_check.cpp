#include "train/compute_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/text.h"

namespace gradwire {
namespace {

bool any_has(const std::vector<std::string>& libraries, std::string_view part) {
  return std::any_of(libraries.begin(), libraries.end(),
                     [&](const auto& path) { return path.find(part) != std::string::npos; });
}

// Debian keeps the reference BLAS in .../blas/libblas.so.3.x; every better one has a folder or name of its
// own.
bool is_reference_blas(const std::string& path) { return path.find("/blas/libblas.so") != std::string::npos; }

}  // namespace

std::vector<std::string> find_compute_problems(const ComputeFacts& facts) {
  std::vector<std::string> problems;
  const auto reference = std::find_if(facts.libraries.begin(), facts.libraries.end(), is_reference_blas);
  if (reference != facts.libraries.end())
    problems.push_back(fmt::format(
        "matrix products run on the reference BLAS ({}), which is many times slower than OpenBLAS: "
        "apt-get install libopenblas0-openmp",
        *reference));
  const int share = std::max(1, facts.cores / std::max(1, facts.ranks));
  if (facts.threads > share)
    problems.push_back(fmt::format(
        "{} threads a rank, with {} rank{} on {} core{}: write torch::set_num_threads({}), or set "
        "OMP_NUM_THREADS={}",
        facts.threads, facts.ranks, facts.ranks == 1 ? "" : "s", facts.cores, facts.cores == 1 ? "" : "s",
        share, share));
  // It makes its own threads, as many as there are cores, whatever torch::set_num_threads() says.
  if (any_has(facts.libraries, "openblas-pthread") && !facts.blas_threads_set && facts.cores > share)
    problems.push_back(
        fmt::format("this OpenBLAS makes its own threads and does not obey torch::set_num_threads(): set "
                    "OPENBLAS_NUM_THREADS={}, or apt-get install libopenblas0-openmp",
                    share));
  return problems;
}

bool multiplies_bfloat16_fast() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512bw") != 0;
#else
  return true;
#endif
}

std::vector<std::string> mapped_libraries() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const auto slash = line.find('/');
        slash != std::string::npos && line.find(".so") != std::string::npos)
      paths.insert(std::string(trim(std::string_view(line).substr(slash))));
  return {paths.begin(), paths.end()};
}

}  // namespace gradwire
