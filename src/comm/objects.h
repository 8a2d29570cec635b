// Values of different lengths between ranks: byte strings, in which a caller puts what it likes (a JSON text, a saved tensor). Two
// calls each, lengths first. All ranks of the communicator call them; they block. Not on nccl, which moves GPU memory alone: use
// a communicator of the same ranks on the host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"

namespace gradwire {

// Everybody's, by rank.
std::vector<std::string> all_gather_objects(Communicator& communicator, std::string_view mine);

// The same on the root; nothing elsewhere.
std::vector<std::string> gather_objects(Communicator& communicator, std::string_view mine, Rank root = 0);

// The root's one.
std::string broadcast_object(Communicator& communicator, std::string_view of_root, Rank root = 0);

// What the root has for this rank; `all` counts on the root alone and has one for each rank.
std::string scatter_objects(Communicator& communicator, const std::vector<std::string>& all, Rank root = 0);

}  // namespace gradwire
