#include "train/bucket_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gradwire {

BucketLedger::BucketLedger(std::vector<std::string> parameters)
    : names_(std::move(parameters)),
      bucket_of_(names_.size(), -1),
      gradients_(names_.size(), Gradient::awaited) {}

void BucketLedger::lay_out(std::span<const Bucket> layout, std::vector<Task> step) {
  std::fill(bucket_of_.begin(), bucket_of_.end(), -1);
  members_.clear();
  for (const Bucket& bucket : layout) {
    for (const int parameter : bucket.members)
      bucket_of_.at(static_cast<std::size_t>(parameter)) = static_cast<int>(members_.size());
    members_.push_back(static_cast<int>(bucket.members.size()));
  }
  missing_ = members_;
  step_ = std::move(step);
  read_step();
  begin();
}

// Of several micro-batches the last one's backward is what a bucket comes after, and what is noted here.
void BucketLedger::read_step() {
  departures_.clear();
  awaited_by_update_.clear();
  ended_before_.clear();
  backward_.assign(members_.size(), 0);
  for (int i = 0; i < static_cast<int>(step_.size()); ++i) {
    const Task& task = step_[static_cast<std::size_t>(i)];
    ended_before_.push_back(task.kind == TaskKind::forward || task.kind == TaskKind::backward);
    if (task.kind == TaskKind::backward) backward_.at(static_cast<std::size_t>(bucket_of(task))) = i;
    if (task.kind == TaskKind::collective) departures_.push_back(i);
    if (task.kind == TaskKind::update)
      for (const int before : task.after)
        awaited_by_update_.push_back(bucket_of(step_[static_cast<std::size_t>(before)]));
  }
  for (const int task : backward_) ended_before_.at(static_cast<std::size_t>(task)) = false;
  check(departures_.size() == members_.size() && awaited_by_update_.size() == members_.size(),
        "a step sends each of its buckets and waits for it");
}

void BucketLedger::begin() {
  std::fill(gradients_.begin(), gradients_.end(), Gradient::awaited);
  order_.clear();
  missing_ = members_;
  ended_ = ended_before_;
  next_ = 0;
}

void BucketLedger::check_awaited(int parameter) const {
  const auto index = static_cast<std::size_t>(parameter);
  if (bucket_of_.at(index) >= 0) return;
  throw ConfigError(
      fmt::format("static_graph: parameter {} has a gradient now and had none in the first "
                  "backward; set find_unused_parameters instead",
                  names_[index]));
}

std::optional<int> BucketLedger::note(int parameter, Gradient what) {
  const auto index = static_cast<std::size_t>(parameter);
  check(what != Gradient::awaited, "a gradient is noted when it is here or absent");
  check_awaited(parameter);
  if (gradients_[index] == Gradient::here)
    throw ConfigError(
        fmt::format("parameter {} got two gradients in one backward (a backward inside a backward?): "
                    "not supported by DistributedDataParallel",
                    names_[index]));
  if (gradients_[index] == Gradient::absent)
    throw ConfigError(
        fmt::format("parameter {} was taken for unused and has a gradient after all: what forward "
                    "returns must hold every tensor that backward starts from",
                    names_[index]));
  gradients_[index] = what;
  order_.push_back(parameter);
  const auto bucket = static_cast<std::size_t>(bucket_of_[index]);
  if (--missing_[bucket] != 0) return std::nullopt;
  complete(bucket);
  return bucket_of_[index];
}

void BucketLedger::note_all_absent() {
  std::fill(gradients_.begin(), gradients_.end(), Gradient::absent);
  std::fill(missing_.begin(), missing_.end(), 0);
  for (std::size_t bucket = 0; bucket < missing_.size(); ++bucket) complete(bucket);
  order_.resize(names_.size());
  std::iota(order_.begin(), order_.end(), 0);
}

std::optional<int> BucketLedger::take_next() {
  if (next_ == departures_.size()) return std::nullopt;
  const Task& task = step_[static_cast<std::size_t>(departures_[next_])];
  for (const int before : task.after)
    if (!ended_[static_cast<std::size_t>(before)]) return std::nullopt;
  ++next_;
  return bucket_of(task);
}

std::vector<int> BucketLedger::awaited() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < gradients_.size(); ++i)
    if (bucket_of_[i] >= 0 && gradients_[i] == Gradient::awaited) result.push_back(static_cast<int>(i));
  return result;
}

}  // namespace gradwire
