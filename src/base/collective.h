// The words all layers share: which collective, on which type, with which reduction; and the signature by
// which ranks check that they are in the same call. All are values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace gradwire {

enum class Collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  barrier,
  gather,
  scatter,
  send,
  recv,
  exchange
};
enum class DType : std::uint8_t { f32, f64, f16, bf16, i8, u8, i32, i64 };
enum class Reduction : std::uint8_t { sum, avg, min, max, product };

inline constexpr int kCollectives = 12, kDTypes = 8, kReductions = 5;
inline constexpr int kScheduled = 7;  // the first so many have programs of their own; the others are messages

// Between some ranks of a group, while the others do something else.
constexpr bool is_point_to_point(Collective kind) { return kind >= Collective::send; }

constexpr std::size_t size_of(DType type) {
  constexpr std::size_t kSizes[] = {4, 8, 2, 2, 1, 1, 4, 8};
  return kSizes[static_cast<int>(type)];
}

// Bytes that cross the busiest link by byte of the buffer: the factor of nccl-tests' bus bandwidth.
double bus_factor(Collective, int ranks);

std::string_view name_of(Collective);
std::string_view name_of(DType);
std::string_view name_of(Reduction);
Collective parse_collective(std::string_view);  // these throw ConfigError listing what there is
DType parse_dtype(std::string_view);
Reduction parse_reduction(std::string_view);

// What a rank believes it is doing: travels with every message, so that two ranks that disagree both learn
// what the other meant. `sequence` counts a communicator's calls; `tag` is the caller's own mark (a bucket's
// number, say); `bytes` is what one rank contributes, or those of one message where that is all. Messages of
// point-to-point calls are of kind `send` on both sides and have no sequence. Fixed layout: it crosses wires
// and shared memory between like machines.
struct Signature {
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::uint32_t tag = 0;
  std::uint16_t root = 0;
  Collective kind = Collective::barrier;
  std::uint8_t type_and_reduction = 0;

  static constexpr std::uint8_t pack(DType type, Reduction reduction) {
    return static_cast<std::uint8_t>(static_cast<int>(type) << 4 | static_cast<int>(reduction));
  }
  DType dtype() const { return static_cast<DType>(type_and_reduction >> 4); }
  Reduction reduction() const { return static_cast<Reduction>(type_and_reduction & 15); }
  bool operator==(const Signature&) const = default;
};
static_assert(sizeof(Signature) == 24);

// "call 17: all_reduce of 4096 bytes, f32, sum"; safe on bytes that came from anywhere.
std::string describe(const Signature&);

// "ranks disagree: rank 0 is in call 3: ... but rank 2 is in call 3: ..."
std::string describe_mismatch(Rank mine, const Signature& my_call, Rank theirs, const Signature& their_call);

}  // namespace gradwire
