// Adds the ranks' gradients up while backward makes them, and leaves each rank the average of its own share, as the
// gradient of the share.
//
// A unit's gradients lie together in one block; when the last of them is there, the block is reduce-scattered.
// Stage 1 keeps a block for every unit, in which gradients add up under no_sync(). Stages 2 and 3 have two blocks
// for all units, one being filled and one on its way: what is left of a unit's gradients is this rank's share, also
// under no_sync(), where every backward is sent and the shares add up.
//
// Belongs to the thread that calls backward; autograd's threads enter through the hooks, one at a time.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <torch/torch.h>

#include "base/mutex.h"
#include "train/gradient_hooks.h"
#include "train/sharded/sharded_units.h"

namespace gradwire {

class ShardReducer {
 public:
  ShardReducer(ShardedUnits& units, bool allow_unused);
  ~ShardReducer();
  ShardReducer(const ShardReducer&) = delete;
  ShardReducer& operator=(const ShardReducer&) = delete;

  void before_forward();  // forgets a backward that failed half way
  void push_no_sync() { ++no_sync_; }
  void pop_no_sync() { --no_sync_; }
  void zero_grad();
  void set_trace(Recorder* trace) { trace_ = trace; }
  Bytes held() const;  // bytes of gradients: shares, and blocks for whole units
  int blocks() const;  // that whole units' gradients took at most

 private:
  struct State {
    std::vector<torch::Tensor> views;  // of the block, shaped as the parameters
    torch::Tensor whole, share, scratch;
    std::shared_ptr<Memory> block;
    std::vector<char> here;
    int missing = 0;
    bool begun = false, launched = false, added = false;  // added: to gradients that were there before
    std::unique_ptr<Work> work;
    Seconds ready = 0;
  };

  void add_hooks();
  void on_gradient(int unit, int member);
  void expect_end() REQUIRES(mutex_);
  void begin_unit(int unit) REQUIRES(mutex_);
  void take_gradient(int unit, int member) REQUIRES(mutex_);
  std::shared_ptr<Memory> take_block(int unit) REQUIRES(mutex_);
  void view_block(int unit) REQUIRES(mutex_);
  void complete(int unit) REQUIRES(mutex_);
  void launch(int unit) REQUIRES(mutex_);
  void finish_oldest() REQUIRES(mutex_);
  void finish_unit(int unit) REQUIRES(mutex_);
  void end();
  void settle_missing() REQUIRES(mutex_);
  void clear_missing(int unit) REQUIRES(mutex_);
  bool sends() const { return no_sync_ == 0 || units_.settings().stage > 1; }
  const ShardedUnits::Unit& unit_at(int unit) const { return units_.units()[static_cast<std::size_t>(unit)]; }

  ShardedUnits& units_;
  const bool allow_unused_;
  const std::unique_ptr<Communicator> inline_;
  GradientHooks hooks_;
  Recorder* trace_ = nullptr;
  int no_sync_ = 0;

  mutable Mutex mutex_;
  std::vector<State> states_ GUARDED_BY(mutex_);  // by unit
  std::vector<std::shared_ptr<Memory>> free_blocks_ GUARDED_BY(mutex_);
  std::size_t block_bytes_ = 0;
  int blocks_ GUARDED_BY(mutex_) = 0;
  Bytes held_blocks_ GUARDED_BY(mutex_) = 0;
  std::deque<int> in_flight_ GUARDED_BY(mutex_);
  bool in_backward_ GUARDED_BY(mutex_) = false;
};

}  // namespace gradwire
