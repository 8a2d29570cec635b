// A collective is a program per rank: a list of steps, plain data. The same program runs on real wires, on a
// model of a machine, and on sets of ranks to prove it right (see run.h and verify.h). Everything here is a
// value.
//
// A program divides its buffers into chunks and names only chunks; who runs it decides how many bytes a chunk
// has (layout.h). Steps of a rank overlap unless they touch one chunk and one of them writes it, in which
// case they run in program order; messages from one rank to another are matched in program order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/collective.h"
#include "base/units.h"

namespace gradwire {

// Never a sixth: fusing a receive with the reduction behind it is the business of who executes them.
enum class Op : std::uint8_t { send, recv, reduce, copy, compute };

// The buffers of a collective. `in` is never written. `out` holds the input too where a collective works in
// place: all_reduce, broadcast, and reduce, which writes it on the root alone.
enum Buffer : std::uint8_t { kOut = 0, kIn = 1, kScratch = 2 };
inline constexpr int kBuffers = 3;

// Consecutive chunks of a buffer. Those in scratch stand for the input's chunks from `like` on, which gives
// them their bytes; they lie packed, so whoever reads them uses the slice they were written with.
struct Slice {
  Buffer buffer = kOut;
  std::int32_t first = 0, count = 0;
  std::int32_t like = 0;
  bool operator==(const Slice&) const = default;
};

constexpr Slice out(int first, int count = 1) { return {kOut, first, count, first}; }
constexpr Slice in(int first, int count = 1) { return {kIn, first, count, first}; }
constexpr Slice scratch(int first, int like, int count = 1) { return {kScratch, first, count, like}; }

// Every step reads `src` and writes `dst`, either of which may be empty. reduce does dst = dst (+) src, or
// src (+) dst when `swapped`: the order shows in the bits of a NaN. `last` marks the reduction that makes a
// chunk complete, where an average is divided. compute lasts `duration`.
struct Step {
  Op op = Op::compute;
  bool swapped = false, last = false;
  Rank peer = -1;
  Slice src = {}, dst = {};
  Seconds duration = 0;
  bool operator==(const Step&) const = default;

  static Step send(Rank to, Slice from) { return {.op = Op::send, .peer = to, .src = from}; }
  static Step recv(Rank from, Slice into) { return {.op = Op::recv, .peer = from, .dst = into}; }
  static Step copy(Slice into, Slice from) { return {.op = Op::copy, .src = from, .dst = into}; }
  static Step reduce(Slice into, Slice from, bool last = false) {
    return {.op = Op::reduce, .last = last, .src = from, .dst = into};
  }
  static Step reduce_swapped(Slice into, Slice from, bool last = false) {
    return {.op = Op::reduce, .swapped = true, .last = last, .src = from, .dst = into};
  }
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
  Shape shape = {};
  Program program = {};
};

}  // namespace gradwire
