#include "topo/import/xml_system.h"

#include <expat.h>

#include <memory>
#include <type_traits>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kDeepestTag = 100, kLongestXml = 1 << 30;

using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, decltype(&XML_ParserFree)>;

int current_line(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
  return static_cast<int>(XML_GetCurrentLineNumber64(parser));
#else
  return static_cast<int>(XML_GetCurrentLineNumber(parser));
#endif
}

// The tree as expat tells of it, tag by tag. `open` leads from the outermost element to the one being read.
struct XmlTree {
  XML_Parser parser;
  XmlElement root = {};
  std::vector<XmlElement*> open = {};
  std::string refused = {};  // why we stopped

  void refuse(const char* why) {
    refused = why;
    XML_StopParser(parser, XML_FALSE);
  }
};

void on_begin(void* data, const char* name, const char** attributes) {
  XmlTree& tree = *static_cast<XmlTree*>(data);
  if (tree.open.size() == kDeepestTag) return tree.refuse("tags are nested too deeply");
  XmlElement* element = tree.open.empty() ? &tree.root : &tree.open.back()->children.emplace_back();
  element->name = name;
  element->line = current_line(tree.parser);
  for (; *attributes != nullptr; attributes += 2)
    element->attributes.emplace_back(attributes[0], attributes[1]);
  tree.open.push_back(element);
}

void on_end(void* data, const char*) { static_cast<XmlTree*>(data)->open.pop_back(); }

void on_entity(void* data, const char*, int, const char*, int, const char*, const char*, const char*,
               const char*) {
  static_cast<XmlTree*>(data)->refuse("it declares an entity, which Gradwire does not read");
}

// In words: expat's are for those who know XML.
std::string what_is_wrong(const XmlTree& tree) {
  switch (XML_GetErrorCode(tree.parser)) {
    case XML_ERROR_ABORTED:
      return tree.refused;
    case XML_ERROR_NO_ELEMENTS:
      return tree.root.name.empty() ? "the file is empty" : "a tag is not closed; is the file cut off?";
    case XML_ERROR_TAG_MISMATCH:
      return "a tag is not closed, or not by its own name; is the file cut off?";
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
      return "a tag does not end; is the file cut off?";
    case XML_ERROR_DUPLICATE_ATTRIBUTE:
      return "an attribute is there twice in one tag";
    case XML_ERROR_INVALID_TOKEN:
      return "a tag or an attribute is not written as <tag name=\"value\">";
    default:
      return XML_ErrorString(XML_GetErrorCode(tree.parser));
  }
}

}  // namespace

std::string XmlElement::attribute(std::string_view wanted) const {
  for (const auto& [key, value] : attributes)
    if (key == wanted) return value;
  return "";
}

const XmlElement* XmlElement::find_child(std::string_view wanted) const {
  for (const XmlElement& child : children)
    if (child.name == wanted) return &child;
  return nullptr;
}

XmlElement parse_xml(std::string_view text, const std::string& where) {
  if (text.size() > kLongestXml) throw ConfigError(fmt::format("{}: XML of over 1 GiB is not read", where));
  const Parser parser(XML_ParserCreate(nullptr), XML_ParserFree);
  check(parser != nullptr, "expat can't be started");
  XmlTree tree{parser.get()};
  XML_SetUserData(parser.get(), &tree);
  XML_SetElementHandler(parser.get(), on_begin, on_end);
  XML_SetEntityDeclHandler(parser.get(), on_entity);
  if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE) != XML_STATUS_OK)
    throw ConfigError(fmt::format("{} line {}: this is not whole XML: {}", where, current_line(parser.get()),
                                  what_is_wrong(tree)));
  return std::move(tree.root);
}

}  // namespace gradwire
