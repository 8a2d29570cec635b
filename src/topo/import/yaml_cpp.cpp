#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "topo/yaml_node.h"

namespace gradwire {
namespace {

// An entry of a list or a map ends at one of these: a text with far more of them is not even looked into.
void check_length(std::string_view text, std::string_view where) {
  const auto ends = std::count_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == ','; });
  if (static_cast<std::size_t>(ends) > 2 * kMostYaml)
    throw ConfigError(
        fmt::format("{}: there is more than the {} values that are read here", where, kMostYaml));
}

// What is too much is refused while it is read: a tree of it would fill the memory first.
class Counting final : public YAML::EventHandler {
 public:
  explicit Counting(std::string_view where) : where_(where) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    count(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void count(const YAML::Mark& mark) {
    if (depth_ > kDeepestYaml)
      throw ConfigError(fmt::format("{} line {}: lists and maps lie more than {} deep in each other", where_,
                                    mark.line + 1, kDeepestYaml));
    if (++count_ > kMostYaml)
      throw ConfigError(fmt::format("{} line {}: there is more than the {} values that are read here", where_,
                                    mark.line + 1, kMostYaml));
  }
  void open(const YAML::Mark& mark) {
    count(mark);
    ++depth_;
  }

  std::string_view where_;
  std::size_t count_ = 0;
  int depth_ = 0;
};

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
  check_length(text, where);
  try {
    std::istringstream stream{std::string(text)};
    Counting counting(where);
    YAML::Parser(stream).HandleNextDocument(counting);
    return FromYamlCpp(where).read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    throw ConfigError(fmt::format("{} line {}: this is not YAML: {}", where, error.mark.line + 1, error.msg));
  }
}

}  // namespace gradwire
