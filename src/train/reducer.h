// Averages gradients over the ranks while backward makes them.
//
// Executes the step graph of DistributedDataParallel (sched/ddp_step.h) of its buckets, which is proved when they are laid
// out: autograd computes, and its hooks tell when a parameter's gradient is there; which bucket then leaves, and what the
// end of backward waits for, is what the graph says (bucket_ledger.h). When backward() returns, gradients are
// averages. The first backward shows in which order gradients come; the buckets are
// then laid out anew in the order that rank 0 saw. A run that goes on from a checkpoint is given that order: how sums are
// rounded depends on where in which bucket a gradient lies.
//
// A pass is what a forward decided for its backward. Belongs to the thread that calls forward and backward;
// autograd's threads (one for each GPU) enter through the hooks, one at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "base/mutex.h"
#include "comm/communicator.h"
#include "train/bucket_ledger.h"
#include "train/ddp.h"
#include "train/device_streams.h"
#include "train/gradient_arena.h"
#include "train/gradient_hooks.h"

namespace gradwire {

struct Pass {
  bool sync = true;
  std::vector<int> unused = {};  // parameters its graph does not reach, where that was looked at
};

class Reducer {
 public:
  // `parameters` are those that want gradients. The communicator is borrowed.
  Reducer(std::vector<NamedTensor> parameters, DeviceStreams& streams, const DdpOptions& options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const GradientNodes& nodes() const { return hooks_.nodes(); }
  std::vector<Bucket> buckets() const {
    const Lock lock(layout_mutex_);
    return layout_;
  }

  // Names of the parameters as the ranks have agreed that gradients come; empty before, and where there is no such order.
  std::vector<std::string> order();
  // The same of a run before this one, for the next forward on. Of other parameters it is ignored.
  void restore_order(const std::vector<std::string>& names);

  void before_forward();  // lays the buckets out anew when their order is known
  // After a forward; and when a backward comes to what that forward gave out.
  void announce(std::shared_ptr<const Pass> pass);
  void enter(std::shared_ptr<const Pass> pass);

  // A rank without input takes part in a backward of the others.
  void shadow_backward();
  // After an average over all ranks: times this. For means over those that had input.
  void set_scale(double scale) { scale_ = scale; }
  void set_trace(Recorder* trace) { trace_ = trace; }

 private:
  using Gradient = BucketLedger::Gradient;

  void lay_out(const std::vector<Bucket>& layout) REQUIRES(mutex_);
  void on_gradient(int parameter);
  void begin(std::shared_ptr<const Pass> pass) REQUIRES(mutex_);
  void start_pass() REQUIRES(mutex_);
  void note(int parameter, Gradient what) REQUIRES(mutex_);
  void launch_ready() REQUIRES(mutex_);
  void launch(int bucket) REQUIRES(mutex_);
  void expect_end() REQUIRES(mutex_);
  void end();
  void settle_missing() REQUIRES(mutex_);
  void finish() REQUIRES(mutex_);
  void finish_buckets() REQUIRES(mutex_);
  std::vector<int> agree_on_presence() REQUIRES(mutex_);
  void agree_on_order(const std::vector<int>& seen) REQUIRES(mutex_);
  void follow(std::vector<int> order) REQUIRES(mutex_);
  std::optional<std::vector<int>> find_order(const std::vector<std::string>& names) const;
  [[noreturn]] void refuse_missing(const std::vector<int>& missing) const;
  void note_ready(std::size_t bucket) REQUIRES(mutex_);
  void record_bucket(std::size_t bucket) REQUIRES(mutex_);
  void record_late_bucket(std::size_t bucket) REQUIRES(mutex_);
  bool tolerates_missing() const REQUIRES(mutex_) {
    return options_.find_unused_parameters || (options_.static_graph && !order_known_);
  }
  // Parameters that may go without a gradient in any step have no order of their own, unless the graph is static.
  bool has_order() const { return options_.static_graph || !options_.find_unused_parameters; }
  std::string name(int parameter) const { return parameters_[parameter].name; }

  const std::vector<NamedTensor> parameters_;
  const DdpOptions options_;
  DeviceStreams& streams_;
  Communicator& communicator_;
  const std::unique_ptr<Communicator> inline_;  // set when buckets wait for the end of backward
  const std::shared_ptr<CommHook> hook_;
  GradientHooks hooks_;
  Recorder* trace_ = nullptr;
  double scale_ = 1;

  Mutex mutex_;
  GradientArena arena_ GUARDED_BY(mutex_);
  std::shared_ptr<const Pass> pass_ GUARDED_BY(mutex_);        // the latest announced or entered
  std::optional<std::vector<int>> unused_ GUARDED_BY(mutex_);  // by all forwards since the last backward
  std::shared_ptr<const Pass> running_ GUARDED_BY(mutex_);     // of the backward that goes on
  bool in_backward_ GUARDED_BY(mutex_) = false;                // end() will be called
  bool shadow_ GUARDED_BY(mutex_) = false;
  BucketLedger ledger_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<BucketWork>> works_ GUARDED_BY(mutex_);
  std::vector<Seconds> ready_ GUARDED_BY(mutex_);        // when each bucket's last gradient was there
  std::vector<LateTime> late_ready_ GUARDED_BY(mutex_);  // the same of a device, which is not there yet

  bool order_known_ GUARDED_BY(mutex_) = false;
  std::vector<int> order_ GUARDED_BY(mutex_);           // that was agreed on or restored
  std::vector<Bucket> next_layout_ GUARDED_BY(mutex_);  // empty: keep the present one
  std::vector<int> always_absent_ GUARDED_BY(mutex_);   // static_graph: what the first backward left out

  mutable Mutex layout_mutex_;  // taken last, so that a hook too may ask for the buckets
  std::vector<Bucket> layout_ GUARDED_BY(layout_mutex_);
};

}  // namespace gradwire
