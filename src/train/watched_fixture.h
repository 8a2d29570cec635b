// For tests of what ranks start: a communicator that takes down the calls that have tags, which are those of buckets and of
// sharded units, in the order in which they are started, and when they ran.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "sched/step_run.h"
#include "trace/recorder.h"

namespace gradwire {

class Watched final : public Communicator {
 public:
  struct Sent {
    Collective kind = Collective::all_reduce;
    std::uint32_t tag = 0;
    TaskTimes times = {.begin = 1, .end = 0};  // once it was waited for
  };

  explicit Watched(Communicator& communicator) : communicator_(communicator) {}
  Rank rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  std::string name() const override { return communicator_.name(); }
  Carrier carrier() const override { return communicator_.carrier(); }
  Memory allocate(std::size_t bytes) override { return communicator_.allocate(bytes); }
  void abort() override { communicator_.abort(); }

  void run(const Call& call) override {
    const Seconds begin = steady_now();
    communicator_.run(call);
    if (call.tag != 0) sent.push_back({call.kind, call.tag, {begin, steady_now()}});
  }
  std::unique_ptr<Work> start(const Call& call) override {
    sent.push_back({.kind = call.kind, .tag = call.tag});
    return std::make_unique<WatchedWork>(*this, sent.size() - 1, communicator_.start(call));
  }

  std::vector<Sent> sent;  // cleared between steps alone

 private:
  class WatchedWork final : public Work {
   public:
    WatchedWork(Watched& watched, std::size_t index, std::unique_ptr<Work> work)
        : watched_(watched), index_(index), work_(std::move(work)) {}
    bool done() override { return work_->done(); }
    void wait() override {
      work_->wait();
      const auto ran = work_->times().value();
      watched_.sent.at(index_).times = {on_steady_clock(ran.begin), on_steady_clock(ran.end)};
    }
    std::optional<WorkTimes> times() const override { return work_->times(); }

   private:
    Watched& watched_;
    const std::size_t index_;
    const std::unique_ptr<Work> work_;
  };

  Communicator& communicator_;
};

}  // namespace gradwire
