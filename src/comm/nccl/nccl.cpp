#include "comm/nccl/nccl.h"

#include <nccl.h>

#include "base/error.h"
#include "comm/nccl/engine.h"
#include "comm/nccl/gpu.h"
#include "comm/nccl/roster.h"

static_assert(NCCL_VERSION_CODE >= 21400, "non-blocking communicators came with NCCL 2.14");

namespace gradwire {
namespace {

class Nccl final : public NcclCommunicator {
 public:
  explicit Nccl(std::shared_ptr<NcclEngine> engine) : engine_(std::move(engine)) {}
  ~Nccl() override { engine_->give_up("the communicator was destroyed before this call ended"); }

  Rank rank() const override { return engine_->world().rank; }
  int size() const override { return engine_->world().size; }
  std::string name() const override { return "nccl"; }
  Carrier carrier() const override { return Carrier::gpus; }
  std::unique_ptr<Work> start(const Call& call) override { return engine_->start(call); }
  void run(const Call& call) override { engine_->start(call)->wait(); }
  Memory allocate(std::size_t bytes) override {
    return allocate_on(engine_->device(), bytes, Deadline::after(engine_->world().timeout));
  }
  void abort() override { engine_->abort(); }
  void set_clock(std::shared_ptr<CudaClock> clock) override { engine_->set_clock(std::move(clock)); }
  void finish() override { engine_->finish(); }

 private:
  const std::shared_ptr<NcclEngine> engine_;  // shared with the Works it gave out
};

RankCard make_card(int device) {
  RankCard card = describe_this_process();
  card.device = device;
  if (auto problem = find_device_problem(device))
    card.problem = std::move(*problem);
  else
    card.gpu = pci_address(device);
  return card;
}

}  // namespace

std::unique_ptr<Communicator> make_nccl(const World& world, const NcclOptions& options) {
  const int device = options.device.value_or(world.local_rank);
  auto roster = std::make_unique<Roster>(world, make_card(device));
  const OnDevice current(device);
  const auto engine = std::make_shared<NcclEngine>(world, device, options.check_calls, std::move(roster));
  engine->connect();
  return std::make_unique<Nccl>(engine);
}

}  // namespace gradwire
