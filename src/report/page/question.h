// What a reader of a page may change, as JSON: the flags of `compare` under their names, models and machines that are not
// built in with their texts. The same value in the page, in its address and in the command line that says the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "predict/step/options.h"
#include "topo/machine.h"

namespace gradwire {

struct AskedMachine {
  std::string name;                 // as --on takes it
  std::optional<std::string> text;  // of the file that the name means, if it means one
};

struct PageQuestion {
  std::string model;  // as `compare` takes it
  std::optional<std::string>
      description;  // the model's own: YAML or JSON of presets/models/example.yaml's form
  std::vector<AskedMachine> machines;
  StepFlags flags;
  std::optional<Anchor> anchor;  // of a recorded run; --step-ms is in the flags
  std::string sweep;             // empty: none
};

// From anybody: throws ConfigError in one line that says what is wrong and what would be right.
PageQuestion parse_question(std::string_view json);
nlohmann::json question_json(const PageQuestion&);  // without what has its usual value

std::string command_of(const PageQuestion&);  // "gradwire compare gpt2 --on dgx-a100 --batch 16"
std::string quoted_word(std::string_view);    // as a shell reads it back

std::vector<Machine> machines_of(const PageQuestion&);  // texts stand for the files they were

}  // namespace gradwire
