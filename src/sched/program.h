// A collective is a program per rank: a list of steps, plain data. The same program runs on real wires, on a
// model of a machine, and on sets of ranks to prove it right (see run.h and verify.h).
//
// A program divides its buffers into chunks and names only chunks; who runs it decides how many bytes a chunk
// has. Steps of a rank overlap unless they touch one chunk and one of them writes it, in which case they run
// in program order; messages from one rank to another are matched in program order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/collective.h"
#include "base/units.h"

namespace gradwire {

// Never a sixth: fusing a receive with the reduction behind it is the business of who executes them.
enum class Op : std::uint8_t { send, recv, reduce, copy, compute };

// The buffers of a collective. `out` holds the input too when a collective works in place (all_reduce always
// does, reduce on every rank, broadcast).
enum Buffer : std::uint8_t { kOut = 0, kIn = 1, kScratch = 2 };
inline constexpr int kBuffers = 3;

struct Slice {
  Buffer buffer = kOut;
  std::int32_t first = 0, count = 0;  // chunks
  bool operator==(const Slice&) const = default;
};

// send reads `src`; recv writes `dst`; reduce does dst = dst (+) src; copy does dst = src; compute lasts
// `duration`.
struct Step {
  Op op = Op::compute;
  Rank peer = -1;
  Slice src, dst;
  Seconds duration = 0;
  bool operator==(const Step&) const = default;
};

using Program = std::vector<Step>;

// How many chunks each buffer of a program has. Every rank of a collective has the same `out` and `in`.
struct Shape {
  std::int32_t chunks[kBuffers] = {0, 0, 0};
  bool operator==(const Shape&) const = default;
};

// One rank's part of a collective, ready to run.
struct Part {
  Rank rank = 0;
  Shape shape;
  Program program;
};

}  // namespace gradwire
