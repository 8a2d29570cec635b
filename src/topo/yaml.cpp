#include "topo/yaml.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"

namespace gradwire {
namespace {

std::string at_line(std::string_view where, const YAML::Node& node) {
  if (node.Mark().is_null()) return std::string(where);
  return fmt::format("{} line {}", where, node.Mark().line + 1);
}

std::string shown(const YAML::Node& node) {
  if (node.IsScalar()) return fmt::format("'{}'", node.Scalar().substr(0, 40));
  return node.IsMap() ? "a map" : node.IsSequence() ? "a list" : "empty";
}

std::string number_range(Range range, std::string_view what) {
  return fmt::format("{} from {} to {}", what, range.low, range.high);
}

}  // namespace

YamlMap::YamlMap(YAML::Node node, std::string where) : node_(std::move(node)), where_(std::move(where)) {
  if (!node_.IsMap())
    throw ConfigError(
        fmt::format("{}: a map of 'key: value' is needed, this is {}", at_line(where_, node_), shown(node_)));
}

std::string YamlMap::place() const { return at_line(where_, node_); }

void YamlMap::only(std::initializer_list<std::string_view> keys) const {
  std::vector<std::string> seen;
  for (const auto& entry : node_) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      throw ConfigError(fmt::format("{}: '{}' is there twice", at_line(where_, entry.first), key));
    seen.push_back(key);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    throw ConfigError(fmt::format("{}: there is no '{:.60}' here{}; there are {}",
                                  at_line(where_, entry.first), key, did_you_mean(key, known),
                                  join(known, ", ")));
  }
}

YAML::Node YamlMap::child(std::string_view key) const {
  const YAML::Node& map = node_;  // the const operator[] does not add the key
  const YAML::Node found = map[std::string(key)];
  return found.IsDefined() && !found.IsNull() ? found : YAML::Node(YAML::NodeType::Undefined);
}

bool YamlMap::has(std::string_view key) const { return child(key).IsDefined(); }

void YamlMap::fail(std::string_view key, std::string_view wanted) const {
  const YAML::Node found = child(key);
  if (!found.IsDefined()) throw ConfigError(fmt::format("{}: '{}' is missing: {}", place(), key, wanted));
  throw ConfigError(
      fmt::format("{}: {} is {}: it must be {}", at_line(where_, found), key, shown(found), wanted));
}

std::optional<std::string> YamlMap::find_text(std::string_view key) const {
  const YAML::Node found = child(key);
  if (!found.IsDefined()) return std::nullopt;
  if (!found.IsScalar()) fail(key, "text");
  return found.Scalar();
}

std::string YamlMap::text(std::string_view key) const {
  const auto found = find_text(key);
  if (!found || found->empty()) fail(key, "text");
  return *found;
}

std::optional<double> YamlMap::find_number(std::string_view key, Range range) const {
  const YAML::Node found = child(key);
  if (!found.IsDefined()) return std::nullopt;
  double value = 0;
  const bool read = found.IsScalar() && YAML::convert<double>::decode(found, value);
  if (!read || !(value >= range.low && value <= range.high)) fail(key, number_range(range, "a number"));
  return value;
}

double YamlMap::number(std::string_view key, Range range) const {
  const auto found = find_number(key, range);
  if (!found) fail(key, number_range(range, "a number"));
  return *found;
}

int YamlMap::integer(const YAML::Node& node, std::string_view key, Range range) const {
  const auto value = node.IsScalar() ? gradwire::find_integer<int>(node.Scalar()) : std::nullopt;
  if (!value || *value < range.low || *value > range.high) fail(key, number_range(range, "whole numbers"));
  return *value;
}

std::optional<int> YamlMap::find_integer(std::string_view key, Range range) const {
  const YAML::Node found = child(key);
  if (!found.IsDefined()) return std::nullopt;
  const auto value = found.IsScalar() ? gradwire::find_integer<int>(found.Scalar()) : std::nullopt;
  if (!value || *value < range.low || *value > range.high) fail(key, number_range(range, "a whole number"));
  return value;
}

std::optional<bool> YamlMap::find_flag(std::string_view key) const {
  const YAML::Node found = child(key);
  if (!found.IsDefined()) return std::nullopt;
  bool value = false;
  if (!found.IsScalar() || !YAML::convert<bool>::decode(found, value)) fail(key, "true or false");
  return value;
}

std::vector<std::string> YamlMap::texts(std::string_view key) const {
  const YAML::Node found = child(key);
  std::vector<std::string> result;
  if (!found.IsDefined()) return result;
  if (!found.IsSequence()) fail(key, "a list");
  for (const auto& item : found) {
    if (!item.IsScalar()) fail(key, "a list of texts");
    result.push_back(item.Scalar());
  }
  return result;
}

std::string YamlMap::lines(std::string_view key) const {
  return child(key).IsSequence() ? join(texts(key), "\n") : text(key);
}

std::vector<int> YamlMap::integers(std::string_view key, Range range) const {
  const YAML::Node found = child(key);
  std::vector<int> result;
  if (!found.IsDefined()) return result;
  if (!found.IsSequence()) fail(key, "a list");
  for (const auto& item : found) result.push_back(integer(item, key, range));
  return result;
}

std::vector<std::vector<int>> YamlMap::rows(std::string_view key, Range range) const {
  const YAML::Node found = child(key);
  std::vector<std::vector<int>> result;
  if (!found.IsDefined()) return result;
  if (!found.IsSequence()) fail(key, "a list of lists");
  for (const auto& row : found) {
    if (!row.IsSequence()) fail(key, "a list of lists");
    result.emplace_back();
    for (const auto& item : row) result.back().push_back(integer(item, key, range));
  }
  return result;
}

std::vector<YamlMap> YamlMap::maps(std::string_view key) const {
  const YAML::Node found = child(key);
  if (!found.IsDefined() || !found.IsSequence()) fail(key, "a list");
  std::vector<YamlMap> result;
  for (const auto& item : found) result.emplace_back(item, where_);
  return result;
}

std::optional<YamlMap> YamlMap::find_map(std::string_view key) const {
  const YAML::Node found = child(key);
  if (!found.IsDefined()) return std::nullopt;
  return YamlMap(found, where_);
}

YamlMap parse_yaml(std::string_view text, std::string_view where) {
  try {
    return YamlMap(YAML::Load(std::string(text)), std::string(where));
  } catch (const YAML::Exception& error) {
    throw ConfigError(fmt::format("{} line {}: this is not YAML: {}", where, error.mark.line + 1, error.msg));
  }
}

}  // namespace gradwire
