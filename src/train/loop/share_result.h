// What a function came to on one rank, or on every one, to all ranks: a text, such as a file's content, or what it threw. All
// ranks call these. The communicator moves host memory (any but NCCL).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gradwire {

// Calls the function on rank `from` alone and gives its result to all; if it throws a ConfigError, all throw it, if it throws
// anything else, all throw a FileError of the same text.
std::string share_result(Communicator& communicator, Rank from, const std::function<std::string()>& function);

// Every rank calls a function of its own; if any throws, all throw what the first of them threw. Returns the
// ranks' results.
std::vector<std::string> share_results(Communicator& communicator,
                                       const std::function<std::string()>& function);

}  // namespace gradwire
