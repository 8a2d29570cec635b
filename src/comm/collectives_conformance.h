// What every backend must do, as one suite: each rank calls check_collectives with its Collectives and gets a
// list of what was wrong, empty when all was right. For tests.
//
// Every rank knows what every other contributes (a pattern made from its number), so each compares what it
// got with a result computed locally, one element at a time. Patterns are chosen so that the order of a
// reduction does not matter, apart from one check, which takes numbers at random and asks for the same bits
// on every rank. Memory comes from the backend and from elsewhere, aligned and not; calls are in place and
// not; what is beside an output and in an input must stay as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/collectives.h"
#include "comm/messages.h"

namespace gradwire {

struct ConformanceOptions {
  std::vector<Collective> kinds = {};                     // empty: all
  std::vector<DType> dtypes = {};                         // empty: all
  std::vector<Reduction> reductions = {};                 // empty: all
  std::vector<std::size_t> counts = {0, 1, 3, 17, 1027};  // elements of one part
  std::size_t large_count =
      (1 << 19) + 3;                 // elements of a part in one more float32 call of each kind; 0: none
  bool same_bits_everywhere = true;  // whether float sums must be equal bit for bit on all ranks
  std::uint64_t first_sequence = 0;  // number of the first call
};

std::vector<std::string> check_collectives(Collectives& collectives, const ConformanceOptions& = {});

// The part of the conformance suite that is about messages: between pairs, in batches, with oneself, of no bytes, with tags; and
// the collectives whose parts differ in size. What was wrong; `sequence` goes on as the suite makes calls of all ranks.
std::vector<std::string> check_messages(Collectives& collectives, const ConformanceOptions& options,
                                        std::uint64_t& sequence);

}  // namespace gradwire
