// Which parameters are gathered, freed and reduced together: the units of a sharded model, chosen from the names
// of its parameters ("layer0.qkv.weight" is of the module layer0.qkv). Pure functions without torch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gradwire {

struct ShardPolicy {
  // The children of this module are units ("encoder.layers"; empty: of the model itself), and beside it the
  // children of the model.
  std::string children_of = {};
  // A unit with a larger share of all elements is cut into its children, down to modules that have none.
  double largest_share = 0.25;
  // Set: says the unit of each parameter by name, and the two above have no meaning.
  std::function<std::string(const std::string& parameter)> unit_of = {};
};

struct ShardedParameter {
  std::string name;
  std::int64_t elements = 0;
  int kind = 0;  // equal where two may share a block: same type
  bool trainable = true;
};

struct ShardUnit {
  std::string name;
  std::vector<int> members;  // indices of parameters, in their order
  bool trainable = true;
  bool operator==(const ShardUnit&) const = default;
};

// In the order of their first members; every parameter is in one. What differs in kind or in being trained is
// never in one unit. Throws ConfigError when there is no module `children_of`, naming those that are there.
std::vector<ShardUnit> choose_units(std::span<const ShardedParameter> parameters, const ShardPolicy& policy);

}  // namespace gradwire
