// The part of the conformance suite that is about messages: between pairs, in batches, with oneself, of no bytes, with tags; and
// the collectives whose parts differ in size. For tests.
#pragma once

#include "comm/collectives_conformance.h"
#include "comm/messages.h"

namespace gradwire {

// What was wrong; `sequence` goes on as the suite makes calls of all ranks.
std::vector<std::string> check_messages(Collectives& collectives, const ConformanceOptions& options,
                                        std::uint64_t& sequence);

}  // namespace gradwire
