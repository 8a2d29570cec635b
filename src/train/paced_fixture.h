// For tests: collectives on a link of a given speed. A call takes as long as its bytes do on that link, or
// longer when the real one is slower.
#pragma once

#include <memory>
#include <thread>

#include "base/deadline.h"
#include "comm/collectives.h"

namespace gradwire {

class Paced final : public Collectives {
 public:
  Paced(std::unique_ptr<Collectives> collectives, double bytes_per_s)
      : collectives_(std::move(collectives)), bytes_per_s_(bytes_per_s) {}
  Rank rank() const override { return collectives_->rank(); }
  int size() const override { return collectives_->size(); }
  std::string name() const override { return "paced " + collectives_->name(); }
  Carrier carrier() const override { return collectives_->carrier(); }
  Memory allocate(std::size_t bytes) override { return collectives_->allocate(bytes); }
  void cancel() noexcept override { collectives_->cancel(); }
  void give_up(const std::exception& why) noexcept override { collectives_->give_up(why); }
  void exchange(std::span<const Message> messages, const Signature& signature, Seconds timeout) override {
    collectives_->exchange(messages, signature, timeout);
  }
  void run(const Call& call, const Signature& signature) override {
    const auto end = Deadline::after(static_cast<double>(signature.bytes) / bytes_per_s_);
    collectives_->run(call, signature);
    std::this_thread::sleep_until(end.time_point());
  }

 private:
  const std::unique_ptr<Collectives> collectives_;
  const double bytes_per_s_;
};

}  // namespace gradwire
