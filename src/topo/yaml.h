// YAML that someone wrote by hand: every value is read with the kind and range it must have, unknown and
// repeated keys are refused, and every error says file, line, key and what would be right.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/yaml_node.h"

namespace gradwire {

struct Range {
  double low, high;
};

class YamlMap {
 public:
  YamlMap(YamlNode, std::string where);  // throws ConfigError if it is not a map

  void only(std::initializer_list<std::string_view> keys) const;  // throws ConfigError for any other key
  bool has(std::string_view key) const;

  std::string text(std::string_view key) const;  // this and the next throw ConfigError if absent
  double number(std::string_view key, Range) const;
  std::optional<std::string> find_text(std::string_view key) const;
  std::optional<double> find_number(std::string_view key, Range) const;
  std::optional<int> find_integer(std::string_view key, Range) const;
  std::optional<bool> find_flag(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;  // empty if absent
  std::string lines(std::string_view key) const;  // a text, or a list of lines joined; throws if absent
  std::vector<int> integers(std::string_view key, Range) const;           // empty if absent
  std::vector<std::vector<int>> rows(std::string_view key, Range) const;  // a list of lists; empty if absent
  std::vector<YamlMap> maps(std::string_view key) const;                  // a list of maps; throws if absent
  std::optional<YamlMap> find_map(std::string_view key) const;

  std::string place() const;  // "box.yaml line 7"
  [[noreturn]] void fail(std::string_view key, std::string_view wanted) const;

 private:
  const YamlNode* child(std::string_view key) const;  // nothing where it is null or not there
  int integer(const YamlNode&, std::string_view key, Range) const;

  YamlNode node_;
  std::string where_;
};

// The values of scalars as YAML spells them, or nothing.
std::optional<double> find_yaml_number(std::string_view scalar);
std::optional<bool> find_yaml_flag(std::string_view scalar);

YamlMap parse_yaml(std::string_view text, std::string_view where);  // throws ConfigError
// The same for a text that is compiled in: read once, however many ask.
const YamlMap& parse_built_in(std::string_view text, std::string_view where);

// The files of presets/, compiled in, so that the program works wherever it is.
std::string_view preset_text(std::string_view file);  // "gpus.yaml"; throws Error if there is no such file

}  // namespace gradwire
