// The parameters of a model in units, each cut into equal shares, one a rank: what a rank keeps, and how the whole
// comes to be where the model uses it. See sharded.h for what users are promised.
//
// Stages 1 and 2 keep every unit whole and this rank's share is a part of it; after an optimizer has changed the
// shares, a unit is gathered in place before it is next used. Stage 3 keeps the share alone: a unit is gathered into
// one of two slots before it is used, the unit that will be used next into the other meanwhile, and what was there is
// gone. Where ranks share memory, stage 3 keeps every unit whole once for all of them: a rank's share is its part, and a gather is a
// view. All meet before a unit is used that shares may have changed of, and before shares change that units were used of, so
// that nobody writes what another reads. When each is gathered, and into which slot, is what the graph of the step says (unit_walk.h); a unit that is used
// otherwise is gathered when it is used. All ranks use units in the same order; where they do not, the communicator's
// tags tell.
//
// Any thread may use units, one at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "base/mutex.h"
#include "comm/communicator.h"
#include "sched/unit_slots.h"
#include "trace/recorder.h"
#include "train/ddp.h"
#include "train/sharded/flat_layout.h"
#include "train/sharded/unit_policy.h"
#include "train/sharded/unit_storage.h"
#include "train/sharded/unit_walk.h"

namespace gradwire {

// Tensors that share one block of communicator memory: a rank may hold few blocks.
class CommunicatorBlock {
 public:
  CommunicatorBlock(Communicator& communicator, std::size_t bytes);
  explicit CommunicatorBlock(Memory memory);
  torch::Tensor take(std::int64_t elements, const torch::TensorOptions& options);
  const std::shared_ptr<Memory>& memory() const { return memory_; }
  static std::size_t room(std::int64_t elements, torch::ScalarType type);  // what take() takes

 private:
  std::shared_ptr<Memory> memory_;
  std::size_t used_ = 0;
};

struct UnitSettings {
  int stage = 3;
  ShardPolicy policy = {};
  bool views = true;                                   // in stage 3, where ranks share memory
  std::optional<torch::ScalarType> compute_type = {};  // of gathered parameters; unset: their own
  torch::Device device = torch::kCPU;
};

class ShardedUnits final : public UnitOwner {
 public:
  struct Unit {
    std::string name;
    bool trainable = true;
    FlatLayout layout;
    std::vector<NamedTensor> parameters;
    std::vector<std::vector<std::int64_t>> shapes;  // of the parameters
    torch::ScalarType type = torch::kFloat32, compute_type = torch::kFloat32;
    torch::Tensor share;  // flat; what the optimizer changes
    UnitStoragePointer storage;
    torch::Tensor whole;  // flat, while the unit is held or on its way
    std::unique_ptr<Work> gathering;
    Seconds asked = 0;
  };

  // Every rank's parameters are equal; their memory goes. The communicator is borrowed.
  static std::shared_ptr<ShardedUnits> make(const std::vector<NamedTensor>& parameters,
                                            Communicator& communicator, const UnitSettings& settings);
  ~ShardedUnits() override;

  void use(std::span<const int> units) override;
  void change() override;
  void use_all();  // where ranks use different units: then each takes part in all gathers before

  // A step as it passes. Forwards that nothing is learnt from have no backward.
  void begin_forward(bool learns);
  void end_forward();
  // The gradient of a unit is there, and is to be sent or only kept. Whether it is to be reduced now.
  bool complete_gradient(int unit, bool sends);
  void end_backward(bool ends_step);
  void forget_step();  // of which a backward failed
  // After the shares have changed, or may have: what is held is out of date. Waits for what is under way.
  void changed();

  const std::vector<Unit>& units() const { return units_; }
  Communicator& communicator() const { return communicator_; }
  const UnitSettings& settings() const { return settings_; }
  std::vector<Task> tasks() const;  // of the graph that steps go by
  torch::TensorOptions options_for(torch::ScalarType type) const;
  void set_trace(Recorder* trace) { trace_ = trace; }

  struct Held {
    Bytes shares = 0;    // of the parameters
    Bytes gathered = 0;  // whole units, or slots for them
    int slots = 0;       // so many; 0: every unit is kept whole
  };
  Held held() const;

 private:
  ShardedUnits(Communicator& communicator, const UnitSettings& settings);
  void add_units(const std::vector<NamedTensor>& parameters);
  void allocate();
  void make_walk();
  void fill_share(Unit& unit);
  void place(int index, const std::shared_ptr<ShardedUnits>& self);
  void watch_share(int index, const std::shared_ptr<ShardedUnits>& self);
  torch::Tensor own_part(const Unit& unit) const;
  std::optional<UnitWalk::Way> find_way() const REQUIRES(mutex_);
  void hold(int index, std::span<const int> pinned) REQUIRES(mutex_);
  bool start_tasks() REQUIRES(mutex_);
  void start_gather(int index) REQUIRES(mutex_);
  void move_in(int index, int slot, int leaves) REQUIRES(mutex_);
  void release_all() REQUIRES(mutex_);
  void show_shares() REQUIRES(mutex_);
  void meet(std::uint32_t tag);
  void finish_gather(int index) REQUIRES(mutex_);
  void abandon(Unit& unit) REQUIRES(mutex_);
  bool frees_units() const { return settings_.stage == 3 && !views_; }

  Communicator& communicator_;
  const UnitSettings settings_;
  const bool views_;                            // whole units are there once, for all ranks
  const std::unique_ptr<Communicator> inline_;  // a single rank has nobody to wait for
  std::vector<Unit> units_;
  std::unique_ptr<CommunicatorBlock> shares_, wholes_;
  std::size_t slot_bytes_ = 0;
  Recorder* trace_ = nullptr;

  mutable Mutex mutex_;
  std::optional<UnitWalk> walk_ GUARDED_BY(mutex_);
  bool quiet_ GUARDED_BY(mutex_) = false;  // in a forward that nothing is learnt from
  bool aside_ GUARDED_BY(mutex_) = false;  // units were used between steps
  bool used_ GUARDED_BY(mutex_) = false;   // units were, since shares last changed
  UnitSlots slots_ GUARDED_BY(mutex_){2};
  std::vector<std::shared_ptr<Memory>> slot_memory_ GUARDED_BY(mutex_);
};

}  // namespace gradwire
