// Checkpoints without waiting: a thread copies the state while the next step computes, and writes the copy while the training
// goes on. One that is due while the one before is still being written is left out, so that saving never holds the
// training up, however often it is asked for and however slow the disk.
// The thread has the priority of any other: one of low priority would be starved by ranks that wait for it at the end.
// Sharded checkpoints, which ranks write together, are written at once.
//
// Belongs to the thread of the communicator it borrows; all ranks make one, and call it alike.
#pragma once

#include <future>
#include <vector>

#include "train/loop/checkpoint.h"

namespace gradwire {

class CheckpointSaver {
 public:
  CheckpointSaver(std::filesystem::path path, Communicator& communicator, const CheckpointOptions& options);
  ~CheckpointSaver();  // when what is being written is written
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // Whether it was taken. Throws on all ranks what the one before has failed with. Buffers may change when it returns,
  // parameters and optimizer after settle().
  bool save(const TrainingState& state, const TrainingPosition& position);
  void settle();  // until the copy is made; calls nobody
  // Until the last that was taken is on the disk; throws what it failed with.
  void finish();
  int left_out() const { return left_out_; }

 private:
  bool begin(const TrainingState& state, const TrainingPosition& position);
  void borrow(const TrainingState& state);
  void copy();

  const std::filesystem::path path_;
  Communicator& communicator_;
  const CheckpointOptions options_;
  // On rank 0; the writer's while it writes:
  std::vector<NamedTensor> live_, snapshot_;
  std::future<void> copied_, writing_;
  int left_out_ = 0;
};

}  // namespace gradwire
