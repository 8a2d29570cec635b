#include "train/loop/checkpoint_saver.h"

#include <chrono>

#include "base/stream_copy.h"
#include "train/loop/share_result.h"

namespace gradwire {
namespace {

constexpr const char* kTaken = "taken";

// Memory that is there already is used again: first touch costs more than the copy.
bool same_form(const std::vector<NamedTensor>& one, const std::vector<NamedTensor>& other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i].name != other[i].name || one[i].tensor.sizes() != other[i].tensor.sizes() ||
        one[i].tensor.scalar_type() != other[i].tensor.scalar_type())
      return false;
  return true;
}

}  // namespace

CheckpointSaver::CheckpointSaver(std::filesystem::path path, Communicator& communicator,
                                 const CheckpointOptions& options)
    : path_(std::move(path)), communicator_(communicator), options_(options) {}

CheckpointSaver::~CheckpointSaver() {
  if (writing_.valid()) writing_.wait();
}

// What the state is made of, borrowed but for buffers, which the next forward may change; and room for a copy.
void CheckpointSaver::borrow(const TrainingState& state) {
  const torch::NoGradGuard no_grad;
  live_ = tensors_of(state);
  const auto parameters = state.model.parameters.size(), buffers = state.model.buffers.size();
  for (std::size_t i = parameters; i < parameters + buffers; ++i) live_[i].tensor = live_[i].tensor.clone();
  if (same_form(snapshot_, live_)) return;
  snapshot_ = live_;
  for (auto& entry : snapshot_) entry.tensor = torch::empty_like(entry.tensor);
}

// As bytes: torch would make threads for a thread that lives but for a moment.
void CheckpointSaver::copy() {
  for (std::size_t i = 0; i < live_.size(); ++i)
    stream_copy(static_cast<std::byte*>(snapshot_[i].tensor.data_ptr()),
                static_cast<const std::byte*>(live_[i].tensor.data_ptr()), live_[i].tensor.nbytes());
  live_.clear();
}

bool CheckpointSaver::begin(const TrainingState& state, const TrainingPosition& position) {
  if (writing_.valid()) {
    if (writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    writing_.get();
  }
  borrow(state);
  std::promise<void> copied;
  copied_ = copied.get_future();
  writing_ = std::async(std::launch::async, [this, position, done = std::move(copied)]() mutable {
    copy();
    done.set_value();
    write_checkpoint(path_, snapshot_, position, options_.keep);
  });
  return true;
}

void CheckpointSaver::settle() {
  if (copied_.valid()) copied_.wait();
}

bool CheckpointSaver::save(const TrainingState& state, const TrainingPosition& position) {
  if (options_.sharded) {
    save_checkpoint(path_, state, position, communicator_, options_);
    return true;
  }
  check_savable(state, options_);
  const bool taken = share_result(communicator_, 0, [&] {
                       return std::string(begin(state, position) ? kTaken : "");
                     }) == kTaken;
  left_out_ += taken ? 0 : 1;
  return taken;
}

void CheckpointSaver::finish() {
  share_result(communicator_, 0, [&] {
    if (writing_.valid()) writing_.get();
    return std::string();
  });
}

}  // namespace gradwire
