// What makes a rank compute slowly without anybody saying so: a BLAS that is only a reference, or ranks that
// use more threads than there are cores. Pure functions without torch, but for the one that looks at this
// process.
#pragma once

#include <string>
#include <vector>

namespace gradwire {

struct ComputeFacts {
  int ranks = 1;                            // on this host
  int cores = 1;                            // that this rank may use
  int threads = 1;                          // that torch uses in this rank
  bool blas_threads_set = false;            // OPENBLAS_NUM_THREADS is in the environment
  std::vector<std::string> libraries = {};  // mapped into this process, by path
};

std::vector<std::string> find_compute_problems(const ComputeFacts& facts);

std::vector<std::string> mapped_libraries();

// Whether libtorch multiplies bfloat16 matrices quickly on this processor. oneDNN, which does it, needs AVX-512; without it they are
// multiplied number by number.
bool multiplies_bfloat16_fast();

}  // namespace gradwire
