// XML, and what stands in NCCL's topology file, as plain values: every number read with its range, every error with its
// line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradwire {

// XML that other programs wrote, as a tree of elements with their lines. Text between tags is left out: the
// files read here have none that matters. Files may come from anybody: entities are refused, and so are tags
// nested deeper than any real file's.
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

struct XmlNvlink {
  std::string target;  // PCI address, small letters
  int count = 1;
  bool to_switch = false;
};

struct XmlGpu {
  int dev = 0, sm = 0;
  std::vector<XmlNvlink> nvlinks;
};

struct XmlNet {
  std::string name;
  double gbit = 0;  // 0: not told
};

// A PCI device: a GPU, a network card, or a bridge with others below.
struct XmlPci {
  std::string address;
  int generation = 3, width = 16;
  std::optional<XmlGpu> gpu;
  std::vector<XmlNet> nets;
  std::vector<XmlPci> below;
};

struct XmlCpu {
  std::string arch, vendor;
  int family = 0, model = 0;
  std::vector<XmlPci> below;  // a card that is not on PCI is one without an address
};

struct XmlSystem {
  std::vector<XmlCpu> cpus;
};

XmlSystem parse_xml_system(std::string_view text, const std::string& where);  // throws ConfigError

}  // namespace gradwire
