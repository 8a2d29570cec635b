#include "train/loop/sampler.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gradwire {
namespace {

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  const auto order = torch::randperm(count, generator, torch::TensorOptions().dtype(torch::kLong));
  const auto* first = order.data_ptr<std::int64_t>();
  return {first, first + count};
}

std::vector<std::int64_t> in_order(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void check_size(std::int64_t size) {
  if (size < 1)
    throw ConfigError(fmt::format("a sampler of {} samples: the dataset must have 1 or more", size));
}

}  // namespace

DistributedSampler::DistributedSampler(std::int64_t dataset_size, const SamplerOptions& options)
    : options_(options), dataset_size_(dataset_size) {
  check_size(dataset_size);
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks)
    throw ConfigError(fmt::format("a sampler for rank {} of {}: write a rank from 0 to {}", options.rank,
                                  options.ranks, options.ranks - 1));
}

void DistributedSampler::set_epoch(std::int64_t epoch) {
  epoch_ = epoch;
  reset();
}

std::int64_t DistributedSampler::size() const {
  return options_.drop_last ? dataset_size_ / options_.ranks
                            : (dataset_size_ + options_.ranks - 1) / options_.ranks;
}

std::vector<std::int64_t> DistributedSampler::indices() const {
  const auto order = options_.shuffle
                         ? shuffled(dataset_size_, options_.seed + static_cast<std::uint64_t>(epoch_))
                         : in_order(dataset_size_);
  std::vector<std::int64_t> mine;
  for (std::int64_t i = 0; i < size(); ++i)
    mine.push_back(order[static_cast<std::size_t>((i * options_.ranks + options_.rank) % dataset_size_)]);
  return mine;
}

void DistributedSampler::reset(torch::optional<std::size_t> new_size) {
  if (new_size) check_size(static_cast<std::int64_t>(*new_size));
  if (new_size) dataset_size_ = static_cast<std::int64_t>(*new_size);
  dealt_.clear();
  at_ = 0;
}

torch::optional<std::vector<std::size_t>> DistributedSampler::next(std::size_t batch_size) {
  if (dealt_.empty()) dealt_ = indices();
  if (at_ >= dealt_.size()) return torch::nullopt;
  const auto end = std::min(dealt_.size(), at_ + batch_size);
  std::vector<std::size_t> batch(dealt_.begin() + static_cast<std::ptrdiff_t>(at_),
                                 dealt_.begin() + static_cast<std::ptrdiff_t>(end));
  at_ = end;
  return batch;
}

void DistributedSampler::save(torch::serialize::OutputArchive& archive) const {
  archive.write("epoch", torch::tensor(epoch_), /*is_buffer=*/true);
  archive.write("at", torch::tensor(static_cast<std::int64_t>(at_)), /*is_buffer=*/true);
}

void DistributedSampler::load(torch::serialize::InputArchive& archive) {
  torch::Tensor epoch, at;
  archive.read("epoch", epoch, /*is_buffer=*/true);
  archive.read("at", at, /*is_buffer=*/true);
  set_epoch(epoch.item<std::int64_t>());
  at_ = static_cast<std::size_t>(at.item<std::int64_t>());
}

}  // namespace gradwire
