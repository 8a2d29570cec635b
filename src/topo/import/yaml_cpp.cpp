#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/error.h"
#include "topo/yaml_node.h"

namespace gradwire {
namespace {

class FromYamlCpp {
 public:
  explicit FromYamlCpp(std::string_view where) : where_(where) {}

  YamlNode read(const YAML::Node& from, int depth = 0) {
    YamlNode node;
    node.line = from.Mark().is_null() ? 0 : from.Mark().line + 1;
    if (depth > kDeepestYaml || ++count_ > kMostYaml)
      throw ConfigError(fmt::format("{} line {}: there is too much in each other here", where_, node.line));
    if (from.IsScalar()) {
      node.kind = YamlNode::Kind::scalar;
      node.scalar = from.Scalar();
    } else if (from.IsSequence()) {
      node.kind = YamlNode::Kind::list;
      for (const auto& item : from) node.items.push_back(read(item, depth + 1));
    } else if (from.IsMap()) {
      node.kind = YamlNode::Kind::map;
      for (const auto& entry : from) {
        node.keys.push_back(read(entry.first, depth + 1));
        node.items.push_back(read(entry.second, depth + 1));
      }
    }
    return node;
  }

 private:
  std::string_view where_;
  std::size_t count_ = 0;
};

}  // namespace

YamlNode load_yaml(std::string_view text, std::string_view where) {
  try {
    return FromYamlCpp(where).read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    throw ConfigError(fmt::format("{} line {}: this is not YAML: {}", where, error.mark.line + 1, error.msg));
  }
}

}  // namespace gradwire
