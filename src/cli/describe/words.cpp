#include "cli/describe/words.h"

#include "base/collective.h"
#include "predict/workload/catalog.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

std::vector<std::string> machine_words() {
  std::vector<std::string> words;
  for (const MachinePreset& machine : all_machines()) words.push_back(machine.node.name);
  return words;
}

std::vector<std::string> model_words() {
  std::vector<std::string> words;
  for (const ModelEntry& model : all_models()) words.emplace_back(model.name);
  return words;
}

template <typename Enumerator>
std::vector<std::string> enumerator_words(int count) {
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) words.emplace_back(name_of(static_cast<Enumerator>(i)));
  return words;
}

std::vector<std::string> values_of(const std::string& name) {
  if (name == "--on" || name == "machine") return machine_words();
  if (name == "--what-if") {
    auto words = machine_words();
    words.insert(words.begin(), {"nvlink", "pcie"});
    return words;
  }
  if (name == "model" || name == "--model") return model_words();
  if (name == "what") return {"gpus", "links", "networks", "machines", "models"};
  if (name == "collective") return enumerator_words<Collective>(kCollectives);
  if (name == "--dtype") return enumerator_words<DType>(kDTypes);
  if (name == "--op") return enumerator_words<Reduction>(kReductions);
  return {};
}

// As a flag, or as the argument without a dash that it also may be.
FlagWords flag_words(const CLI::Option& option, bool as_argument) {
  FlagWords flag{.names = {}, .what = option.get_description(), .value = {}, .values = {}};
  if (as_argument) {
    flag.names.push_back(option.get_name(true, false));
  } else {
    for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) flag.value = option.get_type_name();
  flag.values = values_of(flag.names.back());
  flag.repeats = option.get_expected_max() > 1;
  return flag;
}

VerbWords verb_words(const CLI::App& app) {
  VerbWords verb{.name = app.get_name(),
                 .what = app.get_description(),
                 .notes = app.get_footer(),
                 .flags = {},
                 .arguments = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->nonpositional()) verb.flags.push_back(flag_words(*option, false));
    if (option->get_positional()) verb.arguments.push_back(flag_words(*option, true));
  }
  return verb;
}

}  // namespace

ProgramWords words_of(const CLI::App& app) {
  ProgramWords program{.own = verb_words(app), .verbs = {}};
  program.own.name.clear();
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* v) { return !v->get_group().empty(); }))
    program.verbs.push_back(verb_words(*verb));
  return program;
}

}  // namespace gradwire
