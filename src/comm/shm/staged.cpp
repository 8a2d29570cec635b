// A call divides its logical buffer into a slice per rank, the one that rank finishes, and every slice into
// windows. For each window j a rank
//   stages  its contribution to everybody else's slice into its own stage,            and posts `staged`;
//   owns    its slice's window: combines all contributions, leaves the result staged, and posts `owned`;
//   takes   the other slices' results out of their owners' stages.
// Stages hold two windows. A rank stages j+1 before it waits for anybody's j, so that nobody waits while it
// copies. Why two are enough: staging j+1 overwrites what others read when they owned j-1, and all `owned`
// j-1 were awaited; owning j overwrites what others took of j-2, and everybody had taken it before posting
// `staged` j.
#include "comm/shm/staged.h"

#include <algorithm>

#include "base/stream_copy.h"
namespace gradwire {
namespace {

// One way between cores: 30 to 70 ns within a cache, 200 to 300 ns beyond, on the machines measured.
constexpr Seconds kFar = 130e-9;

bool reduces(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce || kind == Collective::reduce_scatter;
}

bool receives_all(const Call& call, Rank rank) {
  return call.kind == Collective::all_reduce || call.kind == Collective::all_gather ||
         call.kind == Collective::broadcast || (call.kind == Collective::reduce && call.root == rank);
}

}  // namespace

Staged::Staged(Group& group, Isa isa, std::uint64_t& windows)
    : group_(group),
      isa_(isa),
      windows_(windows),
      window_bytes_(group.stage(0).size() / (2 * (static_cast<std::size_t>(group.size()) + 1))),
      sources_(group.size()) {}

void Staged::begin(const Call& call) {
  call_ = call;
  total_ = std::max(call.in.size(), call.out.size());
  std::size_t longest = 0;
  for (Rank rank = 0; rank < group_.size(); ++rank) longest = std::max(longest, slice(rank).bytes);
  count_ = (longest + window_bytes_ - 1) / window_bytes_;
  stage(0);
}

void Staged::run() {
  constexpr std::uint64_t kWindowsBetweenLooks = 16;
  for (std::uint64_t j = 0; j < count_; ++j) {
    if (j % kWindowsBetweenLooks == 0) look_at_distance();
    if (j + 1 < count_) stage(j + 1);
    group_.await_all(&Block::staged, windows_ + j + 1);
    own(j);
    group_.await_all(&Block::owned, windows_ + j + 1);
    take(j);
  }
  windows_ += count_;
}

// Where a host moves its virtual cores, near and far change within seconds: large calls look again and again.
void Staged::look_at_distance() {
  constexpr std::size_t kWorthALook = 256 << 10;
  constexpr std::uint64_t kCallsBetween = 64;
  if (total_ < kWorthALook && windows_ - looked_ < kCallsBetween) return;
  looked_ = windows_;
  const auto distance = group_.measure_distance();
  near_ = distance && *distance < kFar;
}

// Cores that share a cache hand over best through it, distant ones past it: see stream_copy.
void Staged::hand_over(std::byte* to, const std::byte* from, std::size_t bytes) const {
  near_ ? copy_bytes(to, from, bytes) : stream_copy(to, from, bytes);
}

Staged::Range Staged::slice(Rank owner) const {
  if (call_.kind == Collective::broadcast) return owner == call_.root ? Range{0, total_} : Range{total_, 0};
  const std::size_t ranks = static_cast<std::size_t>(group_.size());
  const bool even = call_.kind != Collective::all_reduce && call_.kind != Collective::reduce;
  const std::size_t part = even ? total_ / ranks : round_up((total_ + ranks - 1) / ranks, kLine);
  const std::size_t first = std::min(total_, static_cast<std::size_t>(owner) * part);
  return {first, std::min(part, total_ - first)};
}

Staged::Range Staged::window(Rank owner, std::uint64_t j) const {
  const Range whole = slice(owner);
  const std::size_t skip = std::min<std::size_t>(j * window_bytes_, whole.bytes);
  return {whole.first + skip, std::min(window_bytes_, whole.bytes - skip)};
}

std::span<std::byte> Staged::part(Rank of, Rank to, std::uint64_t j) const {
  const std::size_t parity = (windows_ + j) & 1, ranks = static_cast<std::size_t>(group_.size());
  return group_.stage(of).subspan((parity * ranks + static_cast<std::size_t>(to)) * window_bytes_,
                                  window_bytes_);
}

std::span<std::byte> Staged::result(Rank of, std::uint64_t j) const {
  const std::size_t parity = (windows_ + j) & 1, ranks = static_cast<std::size_t>(group_.size());
  return group_.stage(of).subspan((2 * ranks + parity) * window_bytes_, window_bytes_);
}

void Staged::stage(std::uint64_t j) {
  if (reduces(call_.kind) || call_.kind == Collective::all_to_all)
    for (Rank to = 0; to < group_.size(); ++to) {
      const Range range = window(to, j);
      if (to != group_.rank())
        hand_over(part(group_.rank(), to, j).data(), call_.in.data() + range.first, range.bytes);
    }
  group_.post(&Block::staged, windows_ + j + 1);
}

void Staged::own(std::uint64_t j) {
  const Range range = window(group_.rank(), j);
  if (call_.kind == Collective::all_to_all)
    exchange(j);
  else if (reduces(call_.kind))
    combine_own(range, j);
  else
    spread_own(range, j);
  group_.post(&Block::owned, windows_ + j + 1);
}

// Block by block: a block that was just combined is still in the first cache when it is handed over.
void Staged::combine_own(Range range, std::uint64_t j) {
  const Rank me = group_.rank();
  const bool scatters = call_.kind == Collective::reduce_scatter, keeps = scatters || receives_all(call_, me);
  const std::size_t kept_from = scatters ? slice(me).first : 0;
  for (std::size_t at = 0; at < range.bytes; at += block_.size()) {
    const std::size_t bytes = std::min(block_.size(), range.bytes - at);
    for (Rank from = 0; from < group_.size(); ++from)
      sources_[from] = from == me ? call_.in.data() + range.first + at : part(from, me, j).data() + at;
    std::byte* const total = keeps ? call_.out.data() + range.first - kept_from + at : block_.data();
    combine(isa_, call_.dtype, call_.reduction, sources_, {&total, 1}, bytes);
    if (!scatters) hand_over(result(me, j).data() + at, total, bytes);
  }
}

void Staged::spread_own(Range range, std::uint64_t j) {
  const std::byte* source = call_.kind == Collective::broadcast
                                ? call_.out.data() + range.first
                                : call_.in.data() + range.first - slice(group_.rank()).first;
  hand_over(result(group_.rank(), j).data(), source, range.bytes);
  copy_bytes(call_.out.data() + range.first, source, range.bytes);
}

void Staged::exchange(std::uint64_t j) {
  const Rank me = group_.rank();
  const Range mine = window(me, j);
  for (Rank from = 0; from < group_.size(); ++from) {
    const std::byte* source = from == me ? call_.in.data() + mine.first : part(from, me, j).data();
    copy_bytes(call_.out.data() + window(from, j).first, source, mine.bytes);
  }
}

void Staged::take(std::uint64_t j) {
  if (!receives_all(call_, group_.rank())) return;
  for (Rank owner = 0; owner < group_.size(); ++owner) {
    const Range range = window(owner, j);
    if (owner != group_.rank())
      copy_bytes(call_.out.data() + range.first, result(owner, j).data(), range.bytes);
  }
}

}  // namespace gradwire
