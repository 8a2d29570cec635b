// How a Trainer says how good a model has become.
#include <algorithm>
#include <array>
#include <cmath>

#include "train/job/trainer.h"

namespace gradwire {
namespace {

constexpr int kTestBatch = 16;

}  // namespace

double Trainer::test(const std::vector<std::int64_t>& samples, Metrics& metrics) {
  const auto batch = place(data_.test->get(samples));
  const auto [classes, loss] = answer(batch);
  if (!classes.defined()) return 0;  // another rank speaks for this model
  const auto asked = batch.target.ne(-100);
  const auto right = classes.eq(batch.target).logical_and(asked);
  const double count = asked.sum().item<double>();
  metrics.add("loss", count > 0 ? loss : 0, count);
  metrics.add("accuracy", count > 0 ? right.sum().item<double>() / count : 0, count);
  return count;
}

MeshModel::Answers Trainer::answer(const Batch& batch) {
  if (cut_) return cut_->test(batch.input, batch.target);
  const auto logits = ddp_->module()->forward(batch.input);
  return {logits.argmax(-1), loss_of(logits, batch.target).item<double>()};
}

void Trainer::set_training(bool on) {
  if (cut_)
    cut_->pipeline().train(on);
  else
    ddp_->module()->train(on);
}

// Every rank takes its share of the test, each sample once.
void Trainer::evaluate(TrainResult& result) {
  const std::int64_t most = takes_text(entry_) ? 64 : 512,
                     size = std::min(most, data_.test ? data_.test->size() : 0);
  if (size == 0) return;
  const torch::NoGradGuard no_grad;
  set_training(false);
  Metrics metrics;
  metrics.add("loss", 0, 0), metrics.add("accuracy", 0, 0);  // for ranks without a sample
  std::array<double, 1> count{};
  std::vector<std::int64_t> samples;
  for (std::int64_t i = place_.data; i < size; i += mesh_.dp) {
    samples.push_back(i);
    if (static_cast<int>(samples.size()) < kTestBatch && i + mesh_.dp < size) continue;
    count[0] += test(samples, metrics);
    samples.clear();
  }
  set_training(true);
  host_->run(all_reduce(bytes_of(count), DType::f64));
  const auto means = metrics.reduce(*host_);
  result.test_loss = means.at("loss");
  result.accuracy = means.at("accuracy");
  result.test_count = std::llround(count[0]);
}

}  // namespace gradwire
