#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
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

struct Extent {
  std::size_t nodes = 1, depth = 0;
};

Extent extent_of(const YamlNode& node) {
  Extent all;
  for (const auto* inner : {&node.keys, &node.items})
    for (const auto& one : *inner) {
      const Extent extent = extent_of(one);
      all.nodes += extent.nodes;
      all.depth = std::max(all.depth, extent.depth + 1);
    }
  return all;
}

// The tree, as what yaml-cpp meets on its way through the text: its own tree takes three times as long. What is too much is
// refused while it is read, before it fills the memory.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(std::string_view where) : where_(where) {}
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make(mark, YamlNode::Kind::none), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    YamlNode node = make(mark, YamlNode::Kind::scalar);
    node.scalar = text;
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto meant = anchored_.find(anchor);
    if (meant == anchored_.end()) fail(mark, "a list or map can't lie in itself");
    count(mark, extent_of(meant->second));
    add(meant->second, {});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({make(mark, YamlNode::Kind::list), anchor});
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({make(mark, YamlNode::Kind::map), anchor});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view what) const {
    throw ConfigError(fmt::format("{} line {}: {}", where_, mark.line + 1, what));
  }
  void count(const YAML::Mark& mark, Extent more) {
    if (open_.size() + more.depth > kDeepestYaml)
      fail(mark, fmt::format("lists and maps lie more than {} deep in each other", kDeepestYaml));
    if ((count_ += more.nodes) > kMostYaml)
      fail(mark, fmt::format("there is more than the {} values that are read here", kMostYaml));
  }
  YamlNode make(const YAML::Mark& mark, YamlNode::Kind kind) {
    count(mark, {});
    YamlNode node;
    node.kind = kind;
    node.line = mark.is_null() ? 0 : mark.line + 1;
    return node;
  }
  void add(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchored_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& in = open_.back().node;
    const bool is_key = in.kind == YamlNode::Kind::map && in.keys.size() == in.items.size();
    (is_key ? in.keys : in.items).push_back(std::move(node));
  }
  void close() {
    auto [node, anchor] = std::move(open_.back());
    open_.pop_back();
    add(std::move(node), anchor);
  }

  std::string_view where_;
  YamlNode root_;
  std::vector<Open> open_;  // what lists and maps it is in, the outermost first
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::size_t count_ = 0;
};

}  // namespace

YamlNode load_yaml(std::string_view text, std::string_view where) {
  check_length(text, where);
  try {
    std::istringstream stream{std::string(text)};
    Builder builder(where);
    YAML::Parser(stream).HandleNextDocument(builder);
    return builder.take();
  } catch (const YAML::Exception& error) {
    throw ConfigError(fmt::format("{} line {}: this is not YAML: {}", where, error.mark.line + 1, error.msg));
  }
}

}  // namespace gradwire
