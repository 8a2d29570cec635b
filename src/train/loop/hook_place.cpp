#include "train/loop/hook_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gradwire {
namespace {

// "12 part 1 of 2.error" is of what is called "12", the second of two parts.
struct Label {
  std::string parameter;
  int part = 0, parts = 1;
  std::string_view what = {};  // ".error"
};

std::optional<Label> find_label(std::string_view saved) {
  const auto dot = saved.find('.');
  if (dot == std::string_view::npos || !find_integer<int>(saved.substr(0, saved.find_first_of(" ."))))
    return std::nullopt;
  Label label{.parameter = std::string(saved.substr(0, dot)), .what = saved.substr(dot)};
  const auto cut = label.parameter.find(" part ");
  if (cut == std::string::npos) return label;
  const auto words = split(std::string_view(label.parameter).substr(cut + 1), ' ');  // part 1 of 2
  const auto part = words.size() == 4 ? find_integer<int>(words[1]) : std::nullopt;
  const auto parts = words.size() == 4 ? find_integer<int>(words[3]) : std::nullopt;
  if (!part || !parts) return std::nullopt;
  label.part = *part, label.parts = *parts;
  label.parameter.resize(cut);
  return label;
}

}  // namespace

std::string saved_name(const HookPlace& place, std::string_view name) {
  const auto label = find_label(name);
  const auto number = label ? find_integer<std::size_t>(label->parameter) : std::nullopt;
  if (!number || *number >= place.parameters.size()) return std::string(name);
  const auto part = place.parts > 1 ? fmt::format(" part {} of {}", place.part, place.parts) : std::string();
  return fmt::format("{}{}{}", place.parameters[*number], part, label->what);
}

std::optional<std::string> find_own_name(const HookPlace& place, std::string_view saved) {
  const auto label = find_label(saved);
  if (!label) return std::string(saved);
  if (label->part != place.part || label->parts != place.parts) return std::nullopt;
  if (place.parameters.empty())
    return find_integer<int>(label->parameter) ? std::optional(std::string(saved)) : std::nullopt;
  const auto found = std::find(place.parameters.begin(), place.parameters.end(), label->parameter);
  if (found == place.parameters.end()) return std::nullopt;
  return fmt::format("{}{}", found - place.parameters.begin(), label->what);
}

bool is_cut_alike(const HookPlace& place, std::string_view saved) {
  const auto label = find_label(saved);
  return !label || label->parts == place.parts;
}

}  // namespace gradwire
