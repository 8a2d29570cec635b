#include "predict/parallel/frameworks.h"

#include <string>
#include <utility>
#include <vector>

#include "predict/presets.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

using HabitsByWord = std::vector<std::pair<std::string, FrameworkHabits>>;

HabitsByWord read_habits() {
  const auto root = parse_yaml(parallel_preset_text("frameworks.yaml"), "presets/frameworks.yaml");
  root.only({"frameworks"});
  HabitsByWord all;
  for (const auto& entry : root.maps("frameworks")) {
    entry.only({"word", "whole_tensors", "kept_parameters", "source"});
    FrameworkHabits habits;
    habits.whole_tensors = entry.find_flag("whole_tensors").value_or(habits.whole_tensors);
    habits.kept_parameters = entry.find_number("kept_parameters", {0, 1e15}).value_or(habits.kept_parameters);
    all.emplace_back(entry.text("word"), habits);
  }
  return all;
}

}  // namespace

FrameworkHabits habits_of(std::string_view framework) {
  static const auto all = read_habits();
  for (const auto& [word, habits] : all)
    if (framework.find(word) != std::string_view::npos) return habits;
  return {};
}

}  // namespace gradwire
