#include "operation.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "comm/kernels/kernels.h"
#include "devices.h"
#include "standin_time.h"

namespace standin {
namespace {

using gradwire::DType;
using gradwire::Reduction;

std::optional<DType> find_type(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return DType::i8;
    case ncclUint8:
      return DType::u8;
    case ncclInt32:
      return DType::i32;
    case ncclInt64:
      return DType::i64;
    case ncclFloat16:
      return DType::f16;
    case ncclFloat32:
      return DType::f32;
    case ncclFloat64:
      return DType::f64;
    case ncclBfloat16:
      return DType::bf16;
    case ncclNumTypes:
      break;
  }
  return std::nullopt;
}

Reduction reduction_of(ncclRedOp_t op) {
  constexpr Reduction kReductions[] = {Reduction::sum, Reduction::product, Reduction::max, Reduction::min,
                                       Reduction::avg};
  return kReductions[op];
}

// One operation while it is carried out. `bytes` is what one rank contributes to one part.
class Run {
 public:
  Run(const Operation& operation, std::uint64_t sequence, int rank, int size, Mesh& mesh)
      : operation_(operation), rank_(rank), size_(size), mesh_(mesh) {
    bytes_ = operation.count * size_of(operation.datatype);
    header_ = {.sequence = sequence,
               .count = operation.count,
               .kind = static_cast<int>(operation.kind),
               .datatype = operation.datatype,
               .operation = operation.reduction,
               .root = operation.root,
               .at = *standinRunningTime()};
    send_ = reach(operation.send);
    receive_ = reach(operation.receive);
  }

  std::optional<Trouble> all_reduce() { return reduce(0, true); }
  std::optional<Trouble> reduce_to_root() { return reduce(0, rank_ == operation_.root); }

  std::optional<Trouble> reduce_scatter() {
    for (int peer = 0; peer < size_; ++peer) give(peer, send_ + part(peer));
    return reduce(part(rank_), true);
  }

  std::optional<Trouble> all_gather() {
    for (int peer = 0; peer < size_; ++peer) {
      give(peer, send_);
      take(peer, receive_ + part(peer), bytes_);
    }
    copy(receive_ + part(rank_), send_);
    return mesh_.exchange(out_, in_);
  }

  std::optional<Trouble> broadcast() {
    const bool is_root = rank_ == operation_.root;
    for (int peer = 0; peer < size_; ++peer) {
      give(peer, is_root ? send_ : nullptr);
      take(peer, receive_, peer == operation_.root ? bytes_ : 0);
    }
    if (is_root) copy(receive_, send_);
    return mesh_.exchange(out_, in_);
  }

  std::optional<Trouble> finalize() {
    for (int peer = 0; peer < size_; ++peer) {
      give(peer, nullptr);
      take(peer, nullptr, 0);
    }
    return mesh_.exchange(out_, in_);
  }

  // Sends and receives between two ranks meet in the order of the group; those with oneself are copies.
  std::optional<Trouble> group() {
    std::deque<std::span<const std::byte>> to_self;
    for (const Point& point : operation_.points) {
      const std::size_t bytes = point.count * size_of(point.datatype);
      const Header header{.sequence = 0,  // not all ranks have it in their count of operations
                          .count = point.count,
                          .kind = header_.kind,
                          .datatype = point.datatype,
                          .operation = 0,
                          .root = 0,
                          .at = header_.at};
      std::byte* const buffer = reach(point.buffer);
      if (point.outgoing && point.peer == rank_)
        to_self.push_back({buffer, bytes});
      else if (point.outgoing)
        out_.push_back({point.peer, header, {buffer, bytes}});
      else if (point.peer != rank_)
        in_.push_back({point.peer, header, {buffer, bytes}});
    }
    for (const Point& point : operation_.points) {
      if (point.outgoing || point.peer != rank_) continue;
      if (to_self.empty() || to_self.front().size() != point.count * size_of(point.datatype))
        return Trouble{ncclInvalidUsage, "a receive from this rank itself has no matching send"};
      std::memmove(reach(point.buffer), to_self.front().data(), to_self.front().size());
      to_self.pop_front();
    }
    return mesh_.exchange(out_, in_);
  }

 private:
  std::size_t part(int rank) const { return static_cast<std::size_t>(rank) * bytes_; }

  void give(int peer, const std::byte* from) {
    if (peer != rank_) out_.push_back({peer, header_, {from, from == nullptr ? 0 : bytes_}});
  }
  void take(int peer, std::byte* to, std::size_t bytes) {
    if (peer != rank_) in_.push_back({peer, header_, {to, bytes}});
  }
  void copy(std::byte* to, const std::byte* from) {
    if (to != from && bytes_ != 0) std::memmove(to, from, bytes_);
  }

  // Everyone's contribution to this rank's result, of which its own begins at `own` of its input.
  std::optional<Trouble> reduce(std::size_t own, bool wants_result) {
    if (size_ == 1) {
      copy(receive_, send_);
      return std::nullopt;
    }
    std::vector<std::vector<std::byte>> arrived(static_cast<std::size_t>(size_));
    std::vector<const std::byte*> sources;
    for (int peer = 0; peer < size_; ++peer) {
      auto& space = arrived[static_cast<std::size_t>(peer)];
      if (peer != rank_ && wants_result) space.resize(bytes_);
      const bool peer_wants = operation_.kind != Kind::reduce || peer == operation_.root;
      if (operation_.kind != Kind::reduce_scatter) give(peer, peer_wants ? send_ : nullptr);
      take(peer, space.data(), space.size());
      sources.push_back(peer == rank_ ? send_ + own : space.data());
    }
    if (auto trouble = mesh_.exchange(out_, in_)) return trouble;
    if (wants_result && bytes_ != 0)
      gradwire::combine(gradwire::Isa::scalar, *find_type(operation_.datatype),
                        reduction_of(operation_.reduction), sources, std::span(&receive_, 1), bytes_);
    return std::nullopt;
  }

  const Operation& operation_;
  const int rank_, size_;
  Mesh& mesh_;
  std::size_t bytes_;
  Header header_;
  std::byte *send_, *receive_;
  std::vector<Outgoing> out_;
  std::vector<Incoming> in_;
};

std::optional<Trouble> run_kind(Run& run, Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return run.all_reduce();
    case Kind::reduce:
      return run.reduce_to_root();
    case Kind::reduce_scatter:
      return run.reduce_scatter();
    case Kind::all_gather:
      return run.all_gather();
    case Kind::broadcast:
      return run.broadcast();
    case Kind::group:
      return run.group();
    case Kind::finalize:
      return run.finalize();
  }
  return std::nullopt;
}

// What a byte takes on the way, where a test wants that to matter.
double nanoseconds_a_byte() {
  const char* const text = std::getenv("GRADWIRE_STANDIN_NS_PER_BYTE");
  return text == nullptr ? 0 : std::atof(text);
}

void pass_time(const Operation& operation, const Mesh& mesh) {
  long long& now = *standinRunningTime();
  const double bytes = static_cast<double>(operation.count * size_of(operation.datatype));
  now = std::max<long long>(now, mesh.latest()) + static_cast<long long>(bytes * nanoseconds_a_byte());
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  const auto known = find_type(type);
  return known ? gradwire::size_of(*known) : 0;
}

std::optional<Trouble> carry_out(const Operation& operation, std::uint64_t sequence, int rank, int size,
                                 Mesh& mesh) {
  Run run(operation, sequence, rank, size, mesh);
  const auto trouble = run_kind(run, operation.kind);
  if (!trouble && operation.kind != Kind::finalize) pass_time(operation, mesh);
  return trouble;
}

}  // namespace standin
