#include "topo/yaml.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/error.h"
#include "base/mutex.h"
#include "base/similar.h"
#include "base/text.h"

namespace gradwire {
namespace {

using Kind = YamlNode::Kind;

std::string at_line(std::string_view where, const YamlNode& node) {
  return node.line == 0 ? std::string(where) : fmt::format("{} line {}", where, node.line);
}

std::string shown(const YamlNode& node) {
  if (node.kind == Kind::scalar) return fmt::format("'{}'", node.scalar.substr(0, 40));
  return node.kind == Kind::map ? "a map" : node.kind == Kind::list ? "a list" : "empty";
}

std::string number_range(Range range, std::string_view what) {
  return fmt::format("{} from {} to {}", what, range.low, range.high);
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i].kind == Kind::scalar && keys[i].scalar == key) return &items[i];
  return nullptr;
}

std::optional<double> find_yaml_number(std::string_view scalar) {
  if (scalar == ".nan" || scalar == ".NaN" || scalar == ".NAN") return std::nan("");
  if (scalar == ".inf" || scalar == "+.inf") return HUGE_VAL;
  if (scalar == "-.inf") return -HUGE_VAL;
  if (scalar.empty() || scalar.find_first_not_of("0123456789+-.eE") != std::string_view::npos)
    return std::nullopt;
  const std::string text(scalar);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<bool> find_yaml_flag(std::string_view scalar) {
  for (const std::string_view yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})
    if (scalar == yes) return true;
  for (const std::string_view no :
       {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})
    if (scalar == no) return false;
  return std::nullopt;
}

YamlMap::YamlMap(YamlNode node, std::string where) : node_(std::move(node)), where_(std::move(where)) {
  if (node_.kind != Kind::map)
    throw ConfigError(
        fmt::format("{}: a map of 'key: value' is needed, this is {}", at_line(where_, node_), shown(node_)));
}

std::string YamlMap::place() const { return at_line(where_, node_); }

void YamlMap::only(std::initializer_list<std::string_view> keys) const {
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < node_.keys.size(); ++i) {
    const YamlNode& entry = node_.keys[i];
    const std::string key = entry.kind == Kind::scalar ? entry.scalar : "?";
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      throw ConfigError(fmt::format("{}: '{}' is there twice", at_line(where_, entry), key));
    seen.push_back(key);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      if (node_.items[i].kind != Kind::none) continue;
      throw ConfigError(
          fmt::format("{}: '{}' has no value: write one, or leave it out", at_line(where_, entry), key));
    }
    const std::vector<std::string> known(keys.begin(), keys.end());
    throw ConfigError(fmt::format("{}: there is no '{:.60}' here{}; there are {}", at_line(where_, entry),
                                  key, did_you_mean(key, known), join(known, ", ")));
  }
}

const YamlNode* YamlMap::child(std::string_view key) const {
  const YamlNode* found = node_.find(key);
  return found != nullptr && found->kind != Kind::none ? found : nullptr;
}

bool YamlMap::has(std::string_view key) const { return child(key) != nullptr; }

void YamlMap::fail(std::string_view key, std::string_view wanted) const {
  const YamlNode* found = child(key);
  if (found == nullptr) throw ConfigError(fmt::format("{}: '{}' is missing: {}", place(), key, wanted));
  throw ConfigError(
      fmt::format("{}: {} is {}: it must be {}", at_line(where_, *found), key, shown(*found), wanted));
}

std::optional<std::string> YamlMap::find_text(std::string_view key) const {
  const YamlNode* found = child(key);
  if (found == nullptr) return std::nullopt;
  if (found->kind != Kind::scalar) fail(key, "text");
  return found->scalar;
}

std::string YamlMap::text(std::string_view key) const {
  const auto found = find_text(key);
  if (!found || found->empty()) fail(key, "text");
  return *found;
}

std::optional<double> YamlMap::find_number(std::string_view key, Range range) const {
  const YamlNode* found = child(key);
  if (found == nullptr) return std::nullopt;
  const auto value = found->kind == Kind::scalar ? find_yaml_number(found->scalar) : std::nullopt;
  if (!value || !(*value >= range.low && *value <= range.high)) fail(key, number_range(range, "a number"));
  return value;
}

double YamlMap::number(std::string_view key, Range range) const {
  const auto found = find_number(key, range);
  if (!found) fail(key, number_range(range, "a number"));
  return *found;
}

int YamlMap::integer(const YamlNode& node, std::string_view key, Range range) const {
  const auto value = node.kind == Kind::scalar ? gradwire::find_integer<int>(node.scalar) : std::nullopt;
  if (!value || *value < range.low || *value > range.high) fail(key, number_range(range, "whole numbers"));
  return *value;
}

std::optional<int> YamlMap::find_integer(std::string_view key, Range range) const {
  const YamlNode* found = child(key);
  if (found == nullptr) return std::nullopt;
  const auto value = found->kind == Kind::scalar ? gradwire::find_integer<int>(found->scalar) : std::nullopt;
  if (!value || *value < range.low || *value > range.high) fail(key, number_range(range, "a whole number"));
  return value;
}

std::optional<bool> YamlMap::find_flag(std::string_view key) const {
  const YamlNode* found = child(key);
  if (found == nullptr) return std::nullopt;
  const auto value = found->kind == Kind::scalar ? find_yaml_flag(found->scalar) : std::nullopt;
  if (!value) fail(key, "true or false");
  return value;
}

std::vector<std::string> YamlMap::texts(std::string_view key) const {
  const YamlNode* found = child(key);
  std::vector<std::string> result;
  if (found == nullptr) return result;
  if (found->kind != Kind::list) fail(key, "a list");
  for (const auto& item : found->items) {
    if (item.kind != Kind::scalar) fail(key, "a list of texts");
    result.push_back(item.scalar);
  }
  return result;
}

std::string YamlMap::lines(std::string_view key) const {
  const YamlNode* found = child(key);
  return found != nullptr && found->kind == Kind::list ? join(texts(key), "\n") : text(key);
}

std::vector<int> YamlMap::integers(std::string_view key, Range range) const {
  const YamlNode* found = child(key);
  std::vector<int> result;
  if (found == nullptr) return result;
  if (found->kind != Kind::list) fail(key, "a list");
  for (const auto& item : found->items) result.push_back(integer(item, key, range));
  return result;
}

std::vector<std::vector<int>> YamlMap::rows(std::string_view key, Range range) const {
  const YamlNode* found = child(key);
  std::vector<std::vector<int>> result;
  if (found == nullptr) return result;
  if (found->kind != Kind::list) fail(key, "a list of lists");
  for (const auto& row : found->items) {
    if (row.kind != Kind::list) fail(key, "a list of lists");
    result.emplace_back();
    for (const auto& item : row.items) result.back().push_back(integer(item, key, range));
  }
  return result;
}

std::vector<YamlMap> YamlMap::maps(std::string_view key) const {
  const YamlNode* found = child(key);
  if (found == nullptr || found->kind != Kind::list) fail(key, "a list");
  std::vector<YamlMap> result;
  for (const auto& item : found->items) result.emplace_back(item, where_);
  return result;
}

std::optional<YamlMap> YamlMap::find_map(std::string_view key) const {
  const YamlNode* found = child(key);
  if (found == nullptr) return std::nullopt;
  return YamlMap(*found, where_);
}

YamlMap parse_yaml(std::string_view text, std::string_view where) {
  return YamlMap(load_yaml(text, where), std::string(where));
}

const YamlMap& parse_built_in(std::string_view text, std::string_view where) {
  static Mutex mutex;
  static std::map<const char*, YamlMap> read;  // by where the text lies
  const Lock lock(mutex);
  const auto known = read.find(text.data());
  return known != read.end() ? known->second
                             : read.emplace(text.data(), parse_yaml(text, where)).first->second;
}

}  // namespace gradwire
