// Which samples of a dataset this rank sees in an epoch: PyTorch's DistributedSampler, to the same indices.
// The dataset is dealt out like cards, rank r taking r, r + n, r + 2n and so on, of the dataset's order or,
// with shuffle, of the permutation that torch.randperm gives for seed + epoch. Every rank gets equally many:
// the end is padded with samples from the beginning, or dropped. Also a sampler for
// torch::data::make_data_loader. Belongs to one thread.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct SamplerOptions {
  Rank rank = 0;
  int ranks = 1;
  bool shuffle = true;
  std::uint64_t seed = 0;  // the same on every rank
  bool drop_last = false;  // instead of padding
};

class DistributedSampler : public torch::data::samplers::Sampler<> {
 public:
  DistributedSampler(std::int64_t dataset_size, const SamplerOptions& options);  // throws ConfigError

  // Before each epoch, on every rank: other epochs are other permutations. Begins the epoch.
  void set_epoch(std::int64_t epoch);

  std::vector<std::int64_t> indices() const;  // this rank's, of the whole epoch
  std::int64_t size() const;                  // of them

  void reset(torch::optional<std::size_t> new_size = torch::nullopt) override;
  torch::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(torch::serialize::OutputArchive& archive) const override;  // epoch and place in it
  void load(torch::serialize::InputArchive& archive) override;

 private:
  const SamplerOptions options_;
  std::int64_t dataset_size_;
  std::int64_t epoch_ = 0;
  std::vector<std::int64_t> dealt_;  // indices(), when asked for by next()
  std::size_t at_ = 0;
};

}  // namespace gradwire
