// JSON is what a page is given for YAML: presets were brought into it when the page was built, and what somebody pastes
// is read by a library of the page.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "topo/yaml_node.h"

namespace gradwire {
namespace {

using nlohmann::json;

class FromJson {
 public:
  explicit FromJson(std::string_view where) : where_(where) {}

  YamlNode read(const json& from, int depth = 0) {
    if (depth > kDeepestYaml || ++count_ > kMostYaml)
      throw ConfigError(fmt::format("{}: there is too much in each other here", where_));
    YamlNode node;
    if (from.is_null()) return node;
    if (!from.is_structured()) {
      node.kind = YamlNode::Kind::scalar;
      node.scalar = from.is_string() ? from.get<std::string>() : from.dump();
      return node;
    }
    node.kind = from.is_object() ? YamlNode::Kind::map : YamlNode::Kind::list;
    for (const auto& [key, value] : from.items()) {
      if (from.is_object()) node.keys.push_back(read(key, depth + 1));
      node.items.push_back(read(value, depth + 1));
    }
    return node;
  }

 private:
  std::string_view where_;
  std::size_t count_ = 0;
};

}  // namespace

YamlNode load_yaml(std::string_view text, std::string_view where) {
  const json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) throw ConfigError(fmt::format("{}: this is not YAML", where));
  return FromJson(where).read(value);
}

}  // namespace gradwire
