// XML that other programs wrote, as a tree of elements with their lines. Text between tags is left out: the
// files read here have none that matters. Files may come from anybody: entities are refused, and so are tags
// nested deeper than any real file's.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradwire {

struct XmlElement {
  std::string name;
  int line = 0;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;

  std::string attribute(std::string_view name) const;         // empty if absent
  const XmlElement* find_child(std::string_view name) const;  // the first; null if there is none
};

// The outermost element. Throws ConfigError naming `where`, the line and what is wrong there.
XmlElement parse_xml(std::string_view text, const std::string& where);

}  // namespace gradwire
