#include "train/job/training_data.h"

#include <algorithm>

#include "train/loop/sampler.h"

namespace gradwire {
namespace {

constexpr int kTestBatch = 16;  // for each reader

Data data_for(const TrainOptions& options) {
  return make_data(find_trainable(options.model), {.real = options.data == DataSource::real,
                                                   .text = options.text,
                                                   .sequence = options.sequence,
                                                   .image = options.image,
                                                   .seed = options.seed});
}

}  // namespace

TrainingData::TrainingData(const TrainOptions& options, int reader, int readers)
    : options_(options),
      reader_(reader),
      readers_(readers),
      text_(takes_text(find_trainable(options.model))),
      data_(data_for(options)) {}

void TrainingData::put_on(torch::Device device, torch::ScalarType type) {
  device_ = device;
  type_ = type;
}

Batch TrainingData::placed(Batch batch) const {
  batch.input = batch.input.is_floating_point() ? batch.input.to(device_, type_) : batch.input.to(device_);
  batch.target = batch.target.to(device_);
  return batch;
}

Batch TrainingData::get(std::int64_t number) {
  DistributedSampler sampler(data_.train->size(),
                             {.rank = reader_, .ranks = readers_, .seed = options_.seed});
  const std::int64_t batch = options_.batch, per_epoch = std::max<std::int64_t>(1, sampler.size() / batch);
  if (number / per_epoch != epoch_) {
    epoch_ = number / per_epoch;
    sampler.set_epoch(epoch_);
    indices_ = sampler.indices();
  }
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < batch; ++i)
    chosen.push_back(indices_[static_cast<std::size_t>(number % per_epoch * batch + i) % indices_.size()]);
  return placed(data_.train->get(chosen));
}

std::int64_t TrainingData::test_size() const {
  const std::int64_t most = text_ ? 64 : 512;
  return std::min(most, data_.test ? data_.test->size() : 0);
}

int TrainingData::tests() const {
  const std::int64_t at_once = std::int64_t{kTestBatch} * readers_;
  return static_cast<int>((test_size() + at_once - 1) / at_once);
}

TrainingData::Test TrainingData::test(int number) {
  const std::int64_t first = std::int64_t{number} * kTestBatch * readers_,
                     end = std::min(test_size(), first + std::int64_t{kTestBatch} * readers_);
  std::vector<std::int64_t> samples;
  for (std::int64_t i = first + reader_; i < end; i += readers_) samples.push_back(i);
  const bool counts = !samples.empty();
  if (!counts) samples.push_back(0);
  return {placed(data_.test->get(samples)), counts};
}

}  // namespace gradwire
