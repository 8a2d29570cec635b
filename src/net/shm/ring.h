// A stream of bytes from one rank to another through shared memory: one writer, one reader, no locks.
//
// The stream is cut into pieces. A piece begins at a cache line with its mark, which is 0 until the piece is
// complete and then one more than its bytes; the first bytes follow in the same line, the others from the
// next line on. Before the writer sets a mark it clears the place of the following one, so the reader, which
// waits at that place, needs one line's journey to see a small piece. The only word that travels back is how
// far the reader is. A piece never wraps around the end of the ring.
//
// RingWriter and RingReader are the two ends, each used by one thread; both refer to the memory of one ring,
// which must start as zeros and outlive them.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradwire {

class Ring {
 public:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kControl = 4096;  // before the ring itself, so that it starts at a page
  static constexpr std::size_t kLongestPiece =
      32 << 10;  // of which a few fit a core's first cache with their source
  static constexpr std::size_t kSmallest = kControl + 2 * kLongestPiece;
  static constexpr std::size_t bytes_for(std::size_t capacity) { return kControl + std::bit_ceil(capacity); }

 protected:
  struct alignas(kLine) Piece {
    std::atomic<std::uint32_t> mark;
    std::uint32_t in_line;  // bytes of the piece in this line
    std::byte bytes[kLine - 8];
  };

  // `memory` is of a size that bytes_for() gives, and at least kSmallest.
  explicit Ring(std::span<std::byte> memory);

  Piece& piece() const { return piece_at(position_); }
  Piece& piece_at(std::uint64_t position) const;
  static std::size_t extent_of(std::size_t in_line, std::size_t total);  // in whole lines

  std::atomic<std::uint64_t>* read_;  // how far the reader is; in shared memory
  std::span<std::byte> lines_;        // a power of two of bytes
  std::uint64_t position_ = 0;        // of the next piece, counted from the stream's beginning
};

class RingWriter : private Ring {
 public:
  explicit RingWriter(std::span<std::byte> memory) : Ring(memory) {}

  // Takes up to a piece of `head` (at most 56 bytes) and then `body`; how many bytes. 0: no room.
  std::size_t write(std::span<const std::byte> head, std::span<const std::byte> body);
  bool can_write() { return has_room(2 * kLine + kLongestPiece); }  // any piece

 private:
  bool has_room(std::size_t extent);

  std::uint64_t seen_read_ = 0;  // what *read_ was when last looked at
};

class RingReader : private Ring {
 public:
  explicit RingReader(std::span<std::byte> memory) : Ring(memory) {}

  // Gives up to a piece, to `head` first and then to `body`; how many bytes. 0: nothing is there.
  std::size_t read(std::span<std::byte> head, std::span<std::byte> body);
  bool has_bytes() const { return piece().mark.load(std::memory_order_acquire) != 0; }

 private:
  std::size_t copy_out(std::span<std::byte> to);
  void finish_piece(std::size_t total);

  std::size_t consumed_ = 0;  // of the piece at position_
};

}  // namespace gradwire
