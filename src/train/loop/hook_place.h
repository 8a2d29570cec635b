// Whose part of a model a hook of the gradients keeps something of (PowerSGD: what it has left out), and what that is called in
// a checkpoint. A hook names what it keeps of a parameter by its number among those it sees, "3.error"; a rank of a mesh
// sees some of the model's, or a part of each, so in a checkpoint the number is the model's, followed by which part it is:
// "12.error", "12 part 1 of 2.error". Names come from files. Without torch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct HookPlace {
  Rank rank = -1;  // among the ranks that average the same gradients; -1: the communicator's own
  int ranks = 0;
  int part = 0, parts = 1;                   // of tensors that are cut
  std::vector<std::string> parameters = {};  // what each is called that the hook sees; empty: by its number
};

std::string saved_name(const HookPlace& place, std::string_view name);

// Nothing where it is of a parameter that the hook does not see. Names that begin with no number are the hook's own.
std::optional<std::string> find_own_name(const HookPlace& place, std::string_view saved);

// Whether it is of a model cut into as many parts.
bool is_cut_alike(const HookPlace& place, std::string_view saved);

}  // namespace gradwire
