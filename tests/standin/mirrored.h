// For tests: NCCL on the stand-in for those who have host memory. Every call is made on copies on the rank's GPU, and what came of it
// is copied back. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "comm/collectives.h"
#include "comm/nccl/nccl.h"
#include "standin/gpu_data.h"

namespace gradwire {

// Blocks of a GPU that were used and are kept for the next who needs one of their size, as torch does: to free one waits for all
// of the GPU's work, also for a message that comes only after what this rank has yet to send.
using KeptBlocks = std::multimap<std::size_t, GpuData<std::byte>>;

// Device memory with the bytes of host memory, and its alignment within a cache line.
class Mirror {
 public:
  Mirror(KeptBlocks& kept, int device, std::span<const std::byte> host)
      : offset_(reinterpret_cast<std::uintptr_t>(host.data()) % 64),
        kept_(kept),
        block_(take(device, offset_ + host.size())) {
    require(cudaMemcpy(bytes().data(), host.data(), host.size(), cudaMemcpyHostToDevice));
  }
  ~Mirror() { kept_.insert(std::move(block_)); }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  std::span<std::byte> bytes() const { return block_.mapped().bytes().subspan(offset_); }
  void copy_to(std::span<const std::byte> host) const {
    auto* const to = const_cast<std::byte*>(host.data());
    require(cudaMemcpy(to, bytes().data(), host.size(), cudaMemcpyDeviceToHost));
  }

 private:
  KeptBlocks::node_type take(int device, std::size_t size) const {
    require(cudaSetDevice(device));
    if (auto used = kept_.extract(size)) return used;
    KeptBlocks fresh;
    fresh.emplace(size, GpuData<std::byte>(device, std::vector<std::byte>(size)));
    return fresh.extract(fresh.begin());
  }

  std::size_t offset_;
  KeptBlocks& kept_;
  KeptBlocks::node_type block_;
};

// Collectives on host memory: each call is made on copies on the GPU. The input is
// copied back too, so that a suite sees whether it was left alone.
class Mirrored final : public Collectives {
 public:
  explicit Mirrored(const World& world) : device_(world.local_rank), nccl_(make_nccl(world)) {}

  Rank rank() const override { return nccl_->rank(); }
  int size() const override { return nccl_->size(); }
  std::string name() const override { return "copies to " + nccl_->name(); }
  Carrier carrier() const override { return Carrier::network; }  // it takes host memory
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  void cancel() noexcept override {}
  void give_up(const std::exception&) noexcept override {}

  void exchange(std::span<const Message> messages, const Signature&, Seconds timeout) override {
    std::deque<Mirror> mirrors;
    std::vector<Message> real(messages.begin(), messages.end());
    for (Message& message : real) {
      if (message.out) message.out = mirrors.emplace_back(kept_, device_, *message.out).bytes();
      if (message.in) message.in = mirrors.emplace_back(kept_, device_, *message.in).bytes();
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
    const Mirror in(kept_, device_, call.in), out(kept_, device_, call.out);
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
  KeptBlocks kept_;
  const std::unique_ptr<Communicator> nccl_;
};

}  // namespace gradwire
