#include "comm/inquiring.h"

#include "base/error.h"
#include "net/blame.h"

namespace gradwire {
namespace {

template <typename Work>
auto looking_through(const World& world, const Work& work) {
  try {
    return work();
  } catch (const Timeout& error) {
    throw look_through(world, error);
  }
}

class Inquiring final : public Collectives {
 public:
  Inquiring(const World& world, std::unique_ptr<Collectives> inner)
      : world_(world), inner_(std::move(inner)) {}

  Rank rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string name() const override { return inner_->name(); }
  Carrier carrier() const override { return inner_->carrier(); }
  Memory allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void cancel() noexcept override { inner_->cancel(); }
  void give_up(const std::exception& why) noexcept override { inner_->give_up(why); }

  void run(const Call& call, const Signature& signature) override {
    looking_through(world_, [&] { inner_->run(call, signature); });
  }

  void exchange(std::span<const Message> messages, const Signature& call, Seconds timeout) override {
    looking_through(world_, [&] { inner_->exchange(messages, call, timeout); });
  }

 private:
  const World world_;
  const std::unique_ptr<Collectives> inner_;
};

}  // namespace

std::unique_ptr<Collectives> make_inquiring(const World& world,
                                            const std::function<std::unique_ptr<Collectives>()>& make) {
  forget_waits(world);
  return std::make_unique<Inquiring>(world, looking_through(world, make));
}

}  // namespace gradwire
