#include "train/loop/checkpoint_saver.h"

#include <chrono>

#include "train/loop/share_text.h"

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

void CheckpointSaver::copy(const TrainingState& state) {
  const torch::NoGradGuard no_grad;
  auto live = tensors_of(state);
  if (!same_form(snapshot_, live)) {
    snapshot_ = std::move(live);
    for (auto& entry : snapshot_) entry.tensor = entry.tensor.clone();
    return;
  }
  for (std::size_t i = 0; i < live.size(); ++i) snapshot_[i].tensor.copy_(live[i].tensor);
}

bool CheckpointSaver::begin(const TrainingState& state, const TrainingPosition& position) {
  if (writing_.valid()) {
    if (writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    writing_.get();
  }
  copy(state);
  writing_ = std::async(std::launch::async,
                        [this, position] { write_checkpoint(path_, snapshot_, position, options_.keep); });
  return true;
}

bool CheckpointSaver::save(const TrainingState& state, const TrainingPosition& position) {
  if (options_.sharded) {
    save_checkpoint(path_, state, position, communicator_, options_);
    return true;
  }
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
