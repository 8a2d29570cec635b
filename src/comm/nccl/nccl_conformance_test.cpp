#include "comm/collectives_conformance.h"

#include <deque>

#include "comm/nccl/nccl_fixture.h"

namespace gradwire {
namespace {

// Device memory with the bytes of host memory, and its alignment within a cache line.
class Mirror {
 public:
  Mirror(int device, std::span<const std::byte> host)
      : offset_(reinterpret_cast<std::uintptr_t>(host.data()) % 64),
        data_(device, std::vector<std::byte>(offset_ + host.size())) {
    require(cudaMemcpy(bytes().data(), host.data(), host.size(), cudaMemcpyHostToDevice));
  }
  std::span<std::byte> bytes() const { return data_.bytes().subspan(offset_); }
  void copy_to(std::span<const std::byte> host) const {
    auto* const to = const_cast<std::byte*>(host.data());
    require(cudaMemcpy(to, bytes().data(), host.size(), cudaMemcpyDeviceToHost));
  }

 private:
  std::size_t offset_;
  GpuData<std::byte> data_;
};

// Collectives on host memory, as the suite wants them: each call is made on copies on the GPU. The input is
// copied back too, so that the suite sees whether it was left alone.
class Mirrored final : public Collectives {
 public:
  explicit Mirrored(const World& world) : device_(world.local_rank), nccl_(make_nccl(world)) {}

  Rank rank() const override { return nccl_->rank(); }
  int size() const override { return nccl_->size(); }
  std::string name() const override { return nccl_->name(); }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  void cancel() noexcept override {}
  void give_up(const std::exception&) noexcept override {}

  void exchange(std::span<const Message> messages, const Signature&, Seconds timeout) override {
    std::deque<Mirror> mirrors;
    std::vector<Message> real(messages.begin(), messages.end());
    for (Message& message : real) {
      if (message.out) message.out = mirrors.emplace_back(device_, *message.out).bytes();
      if (message.in) message.in = mirrors.emplace_back(device_, *message.in).bytes();
    }
    Call call = gradwire::exchange(real);
    call.timeout = timeout;
    nccl_->run(call);
    for (std::size_t i = 0, next = 0; i < messages.size(); ++i) {
      next += messages[i].out.has_value();
      if (messages[i].in) mirrors[next++].copy_to(*messages[i].in);
    }
  }

  void run(const Call& call, const Signature&) override {
    const Mirror in(device_, call.in), out(device_, call.out);
    const bool in_place = !call.in.empty() && call.in.data() >= call.out.data() &&
                          call.in.data() < call.out.data() + call.out.size();
    Call real = call;
    real.out = out.bytes();
    real.in = in_place ? out.bytes().subspan(call.in.data() - call.out.data(), call.in.size()) : in.bytes();
    nccl_->run(real);
    if (!in_place) in.copy_to(call.in);
    out.copy_to(call.out);
  }

 private:
  const int device_;
  const std::unique_ptr<Communicator> nccl_;
};

using NcclConformance = NcclOnStandin;

void expect_conformance(int ranks, const ConformanceOptions& options) {
  const auto check_rank = [&options](const World& world) {
    Mirrored collectives(world);
    EXPECT_EQ(check_collectives(collectives, options), std::vector<std::string>{});
  };
  expect_all_ok(run_threads(ranks, check_rank, {.deadline = 300}));
}

TEST_F(NcclConformance, does_what_every_backend_must_do) { expect_conformance(2, {}); }

// Types and reductions are NCCL's affair and no different here: a few stand for all.
TEST_F(NcclConformance, does_it_in_worlds_of_odd_sizes) {
  for (int ranks : {1, 3, 5})
    expect_conformance(ranks, {.dtypes = {DType::f32, DType::bf16},
                               .reductions = {Reduction::sum, Reduction::avg},
                               .counts = {0, 1027},
                               .large_count = 0});
}

}  // namespace
}  // namespace gradwire
