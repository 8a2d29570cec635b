#include "net/shm/ring.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "base/stream_copy.h"

namespace gradwire {
namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

void copy(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

// Bytes for another core; see stream_copy.
void hand_over(std::byte* to, std::span<const std::byte> from) {
  constexpr std::size_t kPays = 2048;
  if (from.size() >= kPays)
    stream_copy(to, from.data(), from.size());
  else
    copy(to, from);
}

}  // namespace

Ring::Ring(std::span<std::byte> memory)
    : read_(reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data())), lines_(memory.subspan(kControl)) {
  static_assert(sizeof(Piece) == kLine);
  check(memory.size() >= kSmallest && std::has_single_bit(lines_.size()), "a ring of the wrong size");
}

Ring::Piece& Ring::piece_at(std::uint64_t position) const {
  return *reinterpret_cast<Piece*>(lines_.data() + (position & (lines_.size() - 1)));
}

std::size_t Ring::extent_of(std::size_t in_line, std::size_t total) {
  return kLine + (total - in_line + kLine - 1) / kLine * kLine;
}

// The body starts in a line of its own unless all of it fits beside the head: then source and ring are
// aligned alike, and the copy runs at full speed. At the last line of the ring there is no next line, so fill
// that one.
std::size_t RingWriter::write(std::span<const std::byte> head, std::span<const std::byte> body) {
  const std::size_t beside_head = sizeof(Piece::bytes) - head.size();
  const std::size_t to_end = lines_.size() - (position_ & (lines_.size() - 1)) - kLine;
  const bool only_line = body.size() <= beside_head || to_end == 0;
  const auto beside = body.first(only_line ? std::min(beside_head, body.size()) : 0);
  const auto after = only_line ? body.first(0) : body.first(std::min({body.size(), kLongestPiece, to_end}));
  const std::size_t in_line = head.size() + beside.size(), total = in_line + after.size();
  const std::size_t extent = extent_of(in_line, total);
  if (!has_room(extent + kLine)) return 0;

  Piece& piece = this->piece();
  piece.in_line = static_cast<std::uint32_t>(in_line);
  copy(piece.bytes, head);
  copy(piece.bytes + head.size(), beside);
  hand_over(reinterpret_cast<std::byte*>(&piece) + kLine, after);
  piece_at(position_ + extent).mark.store(0, std::memory_order_relaxed);
  piece.mark.store(static_cast<std::uint32_t>(total + 1), std::memory_order_release);
  position_ += extent;
  return total;
}

bool RingWriter::has_room(std::size_t extent) {
  if (position_ + extent - seen_read_ <= lines_.size()) return true;
  seen_read_ = read_->load(std::memory_order_acquire);
  return position_ + extent - seen_read_ <= lines_.size();
}

std::size_t RingReader::read(std::span<std::byte> head, std::span<std::byte> body) {
  const std::uint32_t mark = piece().mark.load(std::memory_order_acquire);
  if (mark == 0) return 0;
  const std::size_t total = mark - 1, before = consumed_;
  const std::size_t to_head = copy_out(head.first(std::min(head.size(), total - consumed_)));
  copy_out(body.first(to_head < head.size() ? 0 : std::min(body.size(), total - consumed_)));
  const std::size_t moved = consumed_ - before;
  if (consumed_ == total) finish_piece(total);
  return moved;
}

// The next bytes of the piece, which lie in two places.
std::size_t RingReader::copy_out(std::span<std::byte> to) {
  const Piece& piece = this->piece();
  const std::size_t in_line = piece.in_line;
  const std::size_t here = std::min(to.size(), in_line - std::min(in_line, consumed_));
  if (here > 0) std::memcpy(to.data(), piece.bytes + consumed_, here);
  if (here < to.size())
    std::memcpy(to.data() + here,
                reinterpret_cast<const std::byte*>(&piece) + kLine + (consumed_ + here - in_line),
                to.size() - here);
  consumed_ += to.size();
  return to.size();
}

void RingReader::finish_piece(std::size_t total) {
  position_ += extent_of(piece().in_line, total);
  consumed_ = 0;
  read_->store(position_, std::memory_order_release);
}

}  // namespace gradwire
