// Memory that several processes of one host map: a resource that nothing can leave behind.
//
// A segment is an anonymous memory file: it never has a name in any file system, only its owner's user can
// open it, and it is gone when the last process that holds it is. Peers open it through the owner's entry in
// /proc, by a SegmentName that the owner publishes; the name carries a random token that also stands in the
// memory, so that a process number used again is noticed. The owner keeps the Segment until all peers have
// opened it.
//
// Pages are made present on creation and on opening: first touch of shared memory runs at some 0.4 GB/s,
// so a segment is made once and kept. What is seldom used may be left out: it costs nothing until it is touched. A mapping lies `colour` steps of a page past a 2 MiB boundary: two
// arrays whose addresses differ by a large power of two make AMD cores add ten times slower, so give each
// segment that a process uses together with others its own colour, the rank of its owner for instance.
//
// Any thread may use it; what is in the memory is up to those who share it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace gradwire {

// Where a segment is found: small and plain, to be put in shared memory as it is or in a Store as text.
struct SegmentName {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, 2> token{};
  std::uint64_t present = 0;  // so many bytes from the beginning are made present

  std::string text() const;
  static SegmentName parse(std::string_view text);  // throws ConfigError
  bool operator==(const SegmentName&) const = default;
};

class Segment {
 public:
  static constexpr int kColours = 512;  // colours count modulo this
  static constexpr std::size_t kAll = ~std::size_t{0};

  Segment() = default;  // no memory
  // Zeroed memory, at least `bytes` (whole pages), aligned to a page.
  // The first `present` bytes are made present, here and where it is opened.
  static Segment create(std::size_t bytes, int colour, std::size_t present = kAll);
  // The same memory here. Throws TransportError saying what to do when it cannot be reached.
  static Segment open(const SegmentName& name, int colour);

  Segment(Segment&& other) noexcept { swap(other); }
  Segment& operator=(Segment&& other) noexcept {
    Segment(std::move(other)).swap(*this);
    return *this;
  }
  ~Segment();

  std::span<std::byte> bytes() const { return bytes_; }
  const SegmentName& name() const { return name_; }

 private:
  void swap(Segment& other) noexcept;
  void map(int colour);

  Fd file_;
  SegmentName name_;
  std::span<std::byte> reserved_;  // the address space around the mapping
  std::span<std::byte> bytes_;     // what the user sees: the file after its first page, which holds the token
};

}  // namespace gradwire
