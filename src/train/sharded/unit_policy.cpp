#include "train/sharded/unit_policy.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

// The modules on the way to a parameter: {"layer0", "qkv"} of layer0.qkv.weight.
std::vector<std::string> modules_of(const std::string& name) {
  std::vector<std::string> path;
  for (const auto part : split(name, '.')) path.emplace_back(part);
  path.pop_back();
  return path;
}

std::string prefix(const std::vector<std::string>& path, std::size_t depth) {
  return join(std::vector<std::string>(path.begin(), path.begin() + static_cast<long>(depth)), ".");
}

// How many modules of each parameter's path name its unit.
class Depths {
 public:
  Depths(std::span<const ShardedParameter> parameters, const ShardPolicy& policy) : parameters_(parameters) {
    const std::size_t inside = policy.children_of.empty() ? 0 : split(policy.children_of, '.').size();
    bool found = inside == 0;
    for (const auto& parameter : parameters) {
      paths_.push_back(modules_of(parameter.name));
      const auto& path = paths_.back();
      const bool below = inside > 0 && path.size() >= inside && prefix(path, inside) == policy.children_of;
      found = found || below;
      depths_.push_back(std::min<std::size_t>(path.size(), below ? inside + 1 : 1));
    }
    if (!found) refuse(policy.children_of);
  }

  std::string unit(std::size_t index) const { return prefix(paths_[index], depths_[index]); }

  // Cuts the units that are too large and can be; false when there was none.
  bool cut_larger_than(double elements) {
    std::map<std::string, double> sizes;
    for (std::size_t i = 0; i < paths_.size(); ++i)
      sizes[unit(i)] += static_cast<double>(parameters_[i].elements);
    std::vector<std::size_t> deeper;
    for (std::size_t i = 0; i < paths_.size(); ++i)
      if (depths_[i] < paths_[i].size() && sizes[unit(i)] > elements) deeper.push_back(i);
    for (const auto index : deeper) ++depths_[index];
    return !deeper.empty();
  }

 private:
  [[noreturn]] void refuse(const std::string& wanted) const {
    std::set<std::string> there;
    for (const auto& path : paths_)
      if (!path.empty()) there.insert(path.front());
    throw ConfigError(fmt::format("units are to be the children of '{:.60}': the model has {}", wanted,
                                  join(std::vector<std::string>(there.begin(), there.end()), ", ")));
  }

  const std::span<const ShardedParameter> parameters_;
  std::vector<std::vector<std::string>> paths_;
  std::vector<std::size_t> depths_;
};

std::vector<std::string> unit_names(std::span<const ShardedParameter> parameters, const ShardPolicy& policy) {
  std::vector<std::string> names;
  if (policy.unit_of) {
    for (const auto& parameter : parameters) names.push_back(policy.unit_of(parameter.name));
    return names;
  }
  double all = 0;
  for (const auto& parameter : parameters) all += static_cast<double>(parameter.elements);
  Depths depths(parameters, policy);
  while (depths.cut_larger_than(policy.largest_share * all)) {
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) names.push_back(depths.unit(i));
  return names;
}

}  // namespace

std::vector<ShardUnit> choose_units(std::span<const ShardedParameter> parameters, const ShardPolicy& policy) {
  if (!(policy.largest_share > 0))
    throw ConfigError(
        fmt::format("the largest share of a unit is {}: write one above 0", policy.largest_share));
  const auto names = unit_names(parameters, policy);
  std::vector<ShardUnit> units;
  std::map<std::tuple<std::string, int, bool>, std::size_t> known;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    const auto [place, is_new] =
        known.try_emplace({names[i], parameter.kind, parameter.trainable}, units.size());
    if (is_new)
      units.push_back({.name = fmt::format("{}{}", names[i].empty() ? "(the model's own)" : names[i],
                                           parameter.trainable ? "" : " (frozen)"),
                       .members = {},
                       .trainable = parameter.trainable});
    units[place->second].members.push_back(static_cast<int>(i));
  }
  return units;
}

}  // namespace gradwire
