// How a tensor that each rank has of its own is called in a checkpoint: "hook.3.error@1-of-2" is that of the second of two
// ranks. Names come from files: everything is checked. Without torch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace gradwire {

struct RankName {
  std::string tensor;
  Rank rank = 0;
  int ranks = 1;
  bool operator==(const RankName&) const = default;
};

std::string rank_name(const RankName& name);

// Nothing where a name is that of a tensor which all ranks have, or says what can't be.
std::optional<RankName> find_rank_name(std::string_view name);

}  // namespace gradwire
