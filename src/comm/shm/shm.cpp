#include "comm/shm/shm.h"

#include <cstring>

#include "base/error.h"
#include "comm/kernels/kernels.h"
#include "comm/shm/registry.h"
#include "comm/shm/staged.h"
#include "comm/shm/wire.h"

namespace gradwire {
namespace {

std::span<const std::byte> contribution(const Call& call) {
  return call.kind == Collective::broadcast ? std::span<const std::byte>(call.out) : call.in;
}

class Shm final : public Collectives {
 public:
  explicit Shm(const World& world)
      : group_(std::make_shared<Group>(world)),
        registry_(group_),
        mail_(*group_, registry_),
        isa_(best_isa()),
        staged_(*group_, isa_, windows_),
        views_(world.size),
        buffers_(world.size) {}

  Rank rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  std::string name() const override { return "shm"; }
  Carrier carrier() const override { return Carrier::shared_memory; }
  Memory allocate(std::size_t bytes) override { return registry_.allocate(bytes); }
  void cancel() noexcept override {
    group_->cancel();
    mail_.cancel();
  }
  void give_up(const std::exception& why) noexcept override { group_->tell(why); }

  void run(const Call& call, const Signature& signature) override {
    group_->set_timeout(call.timeout);
    telling([&] { run_call(call, signature); });
  }

  void exchange(std::span<const Message> messages, const Signature& signature, Seconds timeout) override {
    telling([&] { mail_.exchange(messages, signature, timeout); });
  }

 private:
  // What goes wrong here is told to the others.
  template <typename Work>
  void telling(const Work& work) {
    try {
      work();
    } catch (const Cancelled&) {
      throw;
    } catch (const std::exception& error) {  // memory that ran out too
      group_->tell(error);
      throw;
    }
  }

  static constexpr std::size_t kTinyBytes =
      1024;  // up to here a look at where buffers lie costs more than it saves

  void run_call(const Call& call, const Signature& signature) {
    if (signature.bytes <= kTinyBytes) return run_tiny(call, signature);
    const Place place = find_place(call);
    std::memcpy(group_->next_payload(), &place, sizeof place);
    const auto mine = contribution(call);
    const bool small = mine.size() <= small_limit();
    if (place.region == 0 && small)
      copy_bytes(group_->next_payload() + kDataOffset, mine.data(), mine.size());
    if (place.region == 0 && !small) staged_.begin(call);
    group_->arrive(signature);
    const int shared = map_places(mine);
    if (shared == size()) return run_shared(call);
    if (shared == 0 && small) return pull_payloads(call, kDataOffset);
    if (place.region != 0 || small) staged_.begin(call);
    staged_.run();
  }

  // Reading everybody's whole contribution is less work than two meetings, up to here.
  std::size_t small_limit() const { return kInlineBytes * 2 / static_cast<std::size_t>(std::max(2, size())); }

  void run_tiny(const Call& call, const Signature& signature) {
    const auto mine = contribution(call);
    copy_bytes(group_->next_payload(), mine.data(), mine.size());
    group_->arrive(signature);
    pull_payloads(call, 0);
  }

  void pull_payloads(const Call& call, std::size_t offset) {
    const std::byte* const mine = contribution(call).data();
    for (Rank peer = 0; peer < size(); ++peer)
      views_[peer] = peer == rank() ? mine : group_->payload(peer) + offset;
    pull(call);
  }

  // Ranks write an all-reduce's result where they read the contribution, so it must be the same place on all.
  Place find_place(const Call& call) const {
    if (call.kind == Collective::all_reduce && call.in.data() != call.out.data()) return {};
    return registry_.find(contribution(call));
  }

  // Everybody's contribution lies where this rank can read it.
  void run_shared(const Call& call) {
    if (call.kind == Collective::all_reduce)
      combine_slice(call);
    else
      pull(call);
    group_->post(&Block::finished, group_->round());
    group_->await_all(&Block::finished, group_->round());
  }

  // How many ranks' contributions lie in communicator memory; views_ and buffers_ point to those.
  int map_places(std::span<const std::byte> mine) {
    int shared = 0;
    for (Rank peer = 0; peer < size(); ++peer) {
      Place place;
      std::memcpy(&place, group_->payload(peer), sizeof place);
      if (place.region == 0) continue;
      ++shared;
      // Only memory of the communicator's own is written through these, and that is writable.
      buffers_[peer] = peer == rank() ? const_cast<std::byte*>(mine.data()) : registry_.map(peer, place);
      views_[peer] = buffers_[peer];
    }
    return shared;
  }

  void combine_slice(const Call& call) {
    if (size() == 1) return;  // in place, and nobody else's to add
    const std::size_t ranks = static_cast<std::size_t>(size()), total = call.in.size();
    const std::size_t part = ((total + ranks - 1) / ranks + kLine - 1) / kLine * kLine;
    const std::size_t first = std::min(total, static_cast<std::size_t>(rank()) * part);
    for (auto& view : views_) view += first;
    for (auto& buffer : buffers_) buffer += first;
    combine(isa_, call.dtype, call.reduction, views_, buffers_, std::min(part, total - first));
  }

  // This rank's output from everybody's contribution.
  void pull(const Call& call) {
    const std::size_t ranks = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
    const std::size_t part = call.kind == Collective::all_gather ? call.in.size() : call.out.size() / ranks;
    std::byte* const out = call.out.data();
    switch (call.kind) {
      case Collective::reduce:
        if (call.root != rank()) return;
        [[fallthrough]];
      case Collective::all_reduce:
        return combine(isa_, call.dtype, call.reduction, views_, {&out, 1}, call.out.size());
      case Collective::reduce_scatter:
        for (auto& view : views_) view += me * call.out.size();
        return combine(isa_, call.dtype, call.reduction, views_, {&out, 1}, call.out.size());
      case Collective::broadcast:
        return copy_bytes(out, views_[call.root], call.out.size());
      case Collective::all_gather:
        for (std::size_t peer = 0; peer < ranks; ++peer) copy_bytes(out + peer * part, views_[peer], part);
        return;
      case Collective::all_to_all:
        for (std::size_t peer = 0; peer < ranks; ++peer)
          copy_bytes(out + peer * part, views_[peer] + me * part, part);
        return;
      default:
        return;
    }
  }

  const std::shared_ptr<Group> group_;
  Registry registry_;
  Mail mail_;
  const Isa isa_;
  std::uint64_t windows_ = 0;
  Staged staged_;
  std::vector<const std::byte*> views_;
  std::vector<std::byte*> buffers_;
};

}  // namespace

std::unique_ptr<Collectives> make_shm(const World& world) { return std::make_unique<Shm>(world); }

}  // namespace gradwire
