#include "report/compare/compare.h"

#include <algorithm>

namespace gradwire {
namespace {

// "2*" of "2*boxes/a.txt", nothing of "boxes/a.txt".
std::string nodes_of(const std::string& name) {
  const auto digits = name.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && name[digits] == '*' ? name.substr(0, digits + 1) : "";
}

// With its last `folders` folders; the whole when there are no more.
std::string shortened(const std::string& name, int folders) {
  const auto nodes = nodes_of(name);
  auto begin = name.size();
  for (int i = 0; i <= folders; ++i) {
    const auto slash = begin == 0 ? std::string::npos : name.rfind('/', begin - 1);
    if (slash == std::string::npos || slash < nodes.size()) return name;
    begin = slash;
  }
  return nodes + name.substr(begin + 1);
}

}  // namespace

std::vector<std::string> without_folders(const std::vector<std::string>& on) {
  std::vector<std::string> all;
  for (const auto& name : on) {
    int folders = 0;
    const auto taken = [&](const std::string& other) {
      return other != name && shortened(other, folders) == shortened(name, folders);
    };
    while (std::ranges::any_of(on, taken)) ++folders;
    all.push_back(shortened(name, folders));
  }
  return all;
}

}  // namespace gradwire
