#include "train/loop/seed.h"

#include <torch/torch.h>

namespace gradwire {

void seed_all(std::uint64_t seed) { torch::manual_seed(seed); }

// Mixed (SplitMix64, Steele, Lea and Flood, OOPSLA 2014), so that seed 1 on rank 0 is not seed 0 on rank 1.
void seed_rank(std::uint64_t seed, Rank rank) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(rank) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  torch::manual_seed(z ^ (z >> 31));
}

}  // namespace gradwire
