#include "comm/hierarchical/hierarchical.h"

#include <algorithm>
#include <array>
#include <future>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "comm/kernels/kernels.h"
#include "comm/queued.h"
#include "net/fault.h"
#include "sched/choose.h"

namespace gradwire {
namespace {

// Who is where, from the host of every rank.
struct Layout {
  std::vector<std::vector<Rank>> hosts;
  int my_host = 0, my_place = 0;
  bool even = true;

  Layout(const std::vector<int>& host_of, Rank me) {
    for (Rank rank = 0; rank < static_cast<Rank>(host_of.size()); ++rank) {
      const auto host = static_cast<std::size_t>(host_of[rank]);
      if (host >= hosts.size()) hosts.resize(host + 1);
      if (rank == me) my_host = host_of[rank], my_place = static_cast<int>(hosts[host].size());
      hosts[host].push_back(rank);
    }
    for (const auto& host : hosts) even = even && host.size() == hosts[0].size();
  }

  std::vector<Rank> lane(int place) const {
    std::vector<Rank> members;
    for (const auto& host : hosts) members.push_back(host[place]);
    return members;
  }
};

// Collectives that number their calls.
class Blocking {
 public:
  Blocking() = default;
  explicit Blocking(std::unique_ptr<Collectives> collectives) : collectives_(std::move(collectives)) {}
  Collectives* operator->() const { return collectives_.get(); }
  void run(const Call& call) { collectives_->run(call, check_call(call, collectives_->size(), calls_++)); }

 private:
  std::unique_ptr<Collectives> collectives_;
  std::uint64_t calls_ = 0;
};

class Hierarchical final : public Collectives {
 public:
  Hierarchical(const World& world, const CollectivesFactory& inside, const CollectivesFactory& across)
      : world_(world), layout_(hosts_of(world), world.rank) {
    inside_ = Blocking(
        inside(subset(world, layout_.hosts[layout_.my_host], fmt::format("host-{}", layout_.my_host))));
    flat_ = Blocking(across(subset(world, everybody(), "flat")));
    if (layout_.even || layout_.my_place == 0) {
      auto lane =
          across(subset(world, layout_.lane(layout_.my_place), fmt::format("lane-{}", layout_.my_place)));
      lane_collectives_ = lane.get();
      lane_ = std::make_unique<Queued>(std::move(lane));
    }
    for (auto& part : parts_) part = inside_->allocate(kLanePiece);
  }

  Rank rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  std::string name() const override { return inside_->name() + "+" + flat_->name(); }
  Carrier carrier() const override { return Carrier::network; }
  Memory allocate(std::size_t bytes) override { return inside_->allocate(bytes); }
  void give_up(const std::exception& why) noexcept override {
    inside_->give_up(why);
    flat_->give_up(why);
    if (lane_collectives_ != nullptr) lane_collectives_->give_up(why);
  }
  void cancel() noexcept override {
    inside_->cancel();
    flat_->cancel();
    if (lane_collectives_ != nullptr) lane_collectives_->cancel();
  }

  // The one place where errors of the parts become those of the whole: a rank that fails here closes its
  // connections, and ranks elsewhere would take that for the fault.
  void run(const Call& call, const Signature&) override {
    sharing_faults([&] { dispatch(call); });
  }

  void exchange(std::span<const Message> messages, const Signature& call, Seconds timeout) override {
    std::vector<Message> inside, across;
    for (Message message : messages) {
      const auto& home = layout_.hosts[layout_.my_host];
      const auto place = std::find(home.begin(), home.end(), message.peer);
      if (place != home.end()) message.peer = static_cast<Rank>(place - home.begin());
      (place != home.end() ? inside : across).push_back(message);
    }
    sharing_faults([&] {
      if (inside.empty()) return flat_->exchange(across, call, timeout);
      if (across.empty()) return inside_->exchange(inside, call, timeout);
      exchange_both(inside, across, call, timeout);
    });
  }

 private:
  template <typename Work>
  void sharing_faults(const Work& work) const {
    try {
      work();
    } catch (const Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      const Rank me = world_.global(rank());
      const Fault mine = Fault::of(error, me);
      seen_beside(mine, first_fault(mine)).raise(me);
    }
  }

  // The first to lose patience may have waited for this rank, which itself waited for another.
  static Fault seen_beside(const Fault& mine, const Fault& first) {
    return first.seen_by(mine.origin, mine.awaited,
                         fmt::format("rank {}", fmt::join(mine.awaited, ", rank ")));
  }

  // Neither may wait for the other: a peer may have to hear from this rank on both before it goes on.
  void exchange_both(std::span<const Message> inside, std::span<const Message> across, const Signature& call,
                     Seconds timeout) {
    auto crossing = std::async(std::launch::async, [&] { flat_->exchange(across, call, timeout); });
    try {
      inside_->exchange(inside, call, timeout);
    } catch (...) {
      flat_->cancel();
      throw;
    }
    crossing.get();
  }

  void dispatch(const Call& call) {
    switch (call.kind) {
      case Collective::all_reduce:
        return all_reduce_everywhere(call);
      case Collective::broadcast:
        return broadcast_everywhere(call);
      case Collective::reduce:
      case Collective::reduce_scatter:
      case Collective::all_gather:
      case Collective::all_to_all:
      case Collective::barrier:
      default:
        return flat_.run(call);
    }
  }

  // What the first rank of the world to fail said; `mine` where that can't be learnt.
  Fault first_fault(const Fault& mine) const {
    constexpr Seconds kShortly = 0.5;
    try {
      return Fault::decode(
          world_.store->offer(world_.name + "/fault", mine.encode(), Deadline::after(kShortly)));
    } catch (const Error&) {  // the store is gone too, or silent
      return mine;
    }
  }

  std::vector<Rank> everybody() const {
    std::vector<Rank> ranks(world_.size);
    for (Rank rank = 0; rank < world_.size; ++rank) ranks[rank] = rank;
    return ranks;
  }

  bool leads() const { return layout_.my_place == 0; }

  void all_reduce_everywhere(const Call& call) {
    copy_bytes(call.out.data(), call.in.data(), call.in.size());
    Call in_place = call;
    in_place.in = call.out;
    if (call.reduction == Reduction::avg) in_place.reduction = Reduction::sum;
    const std::size_t unit = size_of(call.dtype) * layout_.hosts[0].size();
    const std::size_t in_lanes =
        layout_.even && call.out.size() > kByLeaders ? call.out.size() / unit * unit : 0;
    reduce_in_lanes(in_place, in_lanes);
    reduce_by_leaders(in_place, in_lanes);
    if (call.reduction == Reduction::avg) divide(isa_, call.dtype, world_.size, call.out);
  }

  // The first `bytes` of a buffer, piece by piece; two pieces are under way at any time.
  void reduce_in_lanes(const Call& call, std::size_t bytes) {
    const std::size_t ranks = layout_.hosts[0].size(), unit = size_of(call.dtype) * ranks;
    const std::size_t step = kLanePiece / unit * unit;
    std::array<std::unique_ptr<Work>, 2> crossing;
    for (std::size_t piece = 0; piece * step < bytes + step; ++piece) {
      if (piece * step < bytes) {
        const auto data = call.out.subspan(piece * step, std::min(step, bytes - piece * step));
        const auto part = parts_[piece % 2].bytes().first(data.size() / ranks);
        inside_.run(tagged(reduce_scatter(data, part, call.dtype, call.reduction), call));
        crossing[piece % 2] = lane_->start(tagged(all_reduce(part, call.dtype, call.reduction), call));
      }
      if (piece == 0) continue;
      const std::size_t before = (piece - 1) * step;
      const auto data = call.out.subspan(before, std::min(step, bytes - before));
      crossing[(piece - 1) % 2]->wait();
      inside_.run(tagged(
          all_gather(parts_[(piece - 1) % 2].bytes().first(data.size() / ranks), data, call.dtype), call));
    }
  }

  void reduce_by_leaders(const Call& call, std::size_t from) {
    const auto data = call.out.subspan(from);
    if (data.empty() && from != 0) return;
    inside_.run(tagged(reduce(data, call.dtype, call.reduction, 0), call));
    if (leads()) lane_->run(tagged(all_reduce(data, call.dtype, call.reduction), call));
    inside_.run(tagged(broadcast(data, call.dtype, 0), call));
  }

  void broadcast_everywhere(const Call& call) {
    const auto& home = host_of(call.root);
    const int host = static_cast<int>(&home - layout_.hosts.data());
    const Rank place = static_cast<Rank>(std::find(home.begin(), home.end(), call.root) - home.begin());
    if (host == layout_.my_host) inside_.run(tagged(broadcast(call.out, call.dtype, place), call));
    if (leads()) lane_->run(tagged(broadcast(call.out, call.dtype, host), call));
    if (host != layout_.my_host) inside_.run(tagged(broadcast(call.out, call.dtype, 0), call));
  }

  const std::vector<Rank>& host_of(Rank rank) const {
    return *std::find_if(layout_.hosts.begin(), layout_.hosts.end(), [rank](const auto& ranks) {
      return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    });
  }

  static Call tagged(Call part, const Call& whole) {
    part.tag = whole.tag;
    part.timeout = whole.timeout;
    return part;
  }

  const World world_;
  const Layout layout_;
  const Isa isa_ = best_isa();
  Blocking inside_, flat_;
  Collectives* lane_collectives_ = nullptr;  // lane_'s own
  std::unique_ptr<Queued> lane_;
  std::array<Memory, 2> parts_;  // this rank's share of two pieces, in memory that its host sees
};

}  // namespace

std::unique_ptr<Collectives> make_hierarchical(const World& world, const CollectivesFactory& inside,
                                               const CollectivesFactory& across) {
  return std::make_unique<Hierarchical>(world, inside, across);
}

}  // namespace gradwire
