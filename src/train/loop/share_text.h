// One rank's text, such as a file's content, to all ranks. The communicator moves host memory (any but NCCL).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gradwire {

// All ranks call it; the text of `from` counts, and is what each returns.
std::string share_text(Communicator& communicator, std::string text, Rank from);

// Calls the function on rank `from` alone and gives its result to all; if it throws a ConfigError or another
// Error, all throw it.
std::string share_result(Communicator& communicator, Rank from, const std::function<std::string()>& function);

// Every rank calls a function of its own; if any throws, all throw what the first of them threw. Returns the
// ranks' results.
std::vector<std::string> share_results(Communicator& communicator,
                                       const std::function<std::string()>& function);

}  // namespace gradwire
