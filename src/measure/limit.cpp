#include "measure/limit.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "net/backoff.h"
#include "net/shm/segment.h"

namespace gradwire {
namespace {

struct alignas(64) Flag {
  std::atomic<std::uint64_t> value;
};

class Limit final : public Collectives {
 public:
  explicit Limit(const World& world)
      : world_(world), yields_(!backoff_for(world, Deadline::after(world.timeout)).spins()) {
    flag_segments_ = share("flags", sizeof(Flag));
    for (const auto& segment : flag_segments_)
      flags_.push_back(reinterpret_cast<Flag*>(segment->bytes().data()));
  }

  Rank rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  std::string name() const override { return kLimit; }
  Carrier carrier() const override { return Carrier::shared_memory; }
  void cancel() noexcept override {}
  void give_up(const std::exception&) noexcept override {}
  void exchange(std::span<const Message>, const Signature&, Seconds) override {
    throw ConfigError("the limit is measured for all_reduce alone");
  }

  Memory allocate(std::size_t bytes) override {
    const auto segments = share("buffer", std::max<std::size_t>(bytes, 64));
    std::vector<float*> buffers;
    for (const auto& segment : segments) buffers.push_back(reinterpret_cast<float*>(segment->bytes().data()));
    std::byte* const mine = segments[rank()]->bytes().data();
    buffers_[mine] = buffers;
    return {{mine, bytes}, std::make_shared<std::vector<std::shared_ptr<Segment>>>(segments)};
  }

  void run(const Call& call, const Signature&) override {
    if (call.kind == Collective::barrier) return meet();
    const auto found = buffers_.find(call.out.data());
    if (call.kind != Collective::all_reduce || call.dtype != DType::f32 || call.reduction != Reduction::sum ||
        found == buffers_.end())
      throw ConfigError("the limit is measured for all_reduce with f32 and sum, in communicator memory");
    meet();
    add_slice(found->second, call.out.size() / sizeof(float));
    meet();
  }

 private:
  // Every rank's segment of this name, mapped here.
  std::vector<std::shared_ptr<Segment>> share(const std::string& what, std::size_t bytes) {
    const std::string key = fmt::format("{}/limit/{}/{}/", world_.name, what, shared_++);
    const Deadline deadline = Deadline::after(world_.timeout);
    auto mine = std::make_shared<Segment>(Segment::create(bytes, rank()));
    world_.store->set(key + std::to_string(rank()), mine->name().text());
    std::vector<std::shared_ptr<Segment>> all(size());
    for (Rank peer = 0; peer < size(); ++peer)
      all[peer] =
          peer == rank()
              ? mine
              : std::make_shared<Segment>(Segment::open(
                    SegmentName::parse(world_.store->get(key + std::to_string(peer), deadline)), peer));
    world_.store->add(key + "opened", 1);
    while (world_.store->add(key + "opened", 0) < size() && !deadline.passed()) ::sched_yield();
    return all;
  }

  void meet() {
    flags_[rank()]->value.store(++met_, std::memory_order_release);
    for (Rank peer = 0; peer < size(); ++peer)
      while (flags_[peer]->value.load(std::memory_order_acquire) < met_)
        yields_ ? void(::sched_yield()) : cpu_pause();
  }

  void add_slice(const std::vector<float*>& buffers, std::size_t count) {
    const std::size_t ranks = buffers.size(), part = (count / ranks + 15) / 16 * 16;
    const std::size_t first = std::min(count, part * static_cast<std::size_t>(rank()));
    const std::size_t last =
        static_cast<std::size_t>(rank()) + 1 == ranks ? count : std::min(count, first + part);
    if (ranks == 2) return add_two(buffers[0], buffers[1], first, last);
    constexpr std::size_t kBlock = 1024;
    for (std::size_t at = first; at < last; at += kBlock) add_block(buffers, at, std::min(last, at + kBlock));
  }

  GRADWIRE_TARGET_AVX2 static void add_two(float* __restrict a, float* __restrict b, std::size_t first,
                                           std::size_t last) {
    for (std::size_t i = first; i < last; ++i) a[i] = b[i] = a[i] + b[i];
  }

  GRADWIRE_TARGET_AVX2 static void add_block(const std::vector<float*>& buffers, std::size_t first,
                                             std::size_t last) {
    float* __restrict const total = buffers[0];
    for (std::size_t r = 1; r < buffers.size(); ++r) {
      const float* __restrict const other = buffers[r];
      for (std::size_t i = first; i < last; ++i) total[i] += other[i];
    }
    for (std::size_t r = 1; r < buffers.size(); ++r)
      std::copy(total + first, total + last, buffers[r] + first);
  }

  const World world_;
  const bool yields_;
  int shared_ = 0;
  std::uint64_t met_ = 0;
  std::vector<Flag*> flags_;
  std::vector<std::shared_ptr<Segment>> flag_segments_;
  std::map<const std::byte*, std::vector<float*>> buffers_;
};

}  // namespace

std::unique_ptr<Collectives> make_limit(const World& world) { return std::make_unique<Limit>(world); }

}  // namespace gradwire
