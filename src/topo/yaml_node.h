// What a text of YAML says: scalars as they were written, lists and maps. A value; yaml.h reads meaning into it. The
// command has it from yaml-cpp; a page, whose presets were brought into JSON when it was built, from a reader of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct YamlNode {
  enum class Kind : std::uint8_t { none, scalar, list, map };  // none: null, or not there
  Kind kind = Kind::none;
  int line = 0;                       // from 1; 0: not known
  std::string scalar;                 // of a scalar
  std::vector<YamlNode> keys, items;  // of a map one of each a pair; a list has items alone

  const YamlNode* find(std::string_view key) const;  // in a map, also where its value is null; else nothing
};

constexpr int kDeepestYaml = 100;           // lists and maps in each other
constexpr std::size_t kMostYaml = 1 << 20;  // nodes: aliases of aliases grow without bound

// Throws ConfigError naming `where` and the line.
YamlNode load_yaml(std::string_view text, std::string_view where);

}  // namespace gradwire
