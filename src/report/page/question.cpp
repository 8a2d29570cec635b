#include "report/page/question.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

// Of a recorded step, in milliseconds.
constexpr std::pair<const char*, Seconds Breakdown::*> kParts[] = {
    {"data", &Breakdown::data},
    {"forward", &Breakdown::forward},
    {"backward", &Breakdown::backward},
    {"comm_overlapped", &Breakdown::comm_overlapped},
    {"comm_exposed", &Breakdown::comm_exposed},
    {"optimizer", &Breakdown::optimizer},
    {"other", &Breakdown::other}};

constexpr std::size_t kMostMachines = 16, kMostText = 1 << 20;

// Every flag once, under its name on the command line with _ for -.
constexpr std::pair<const char*, int StepFlags::*> kWholeNumbers[] = {
    {"batch", &StepFlags::batch}, {"accumulate", &StepFlags::accumulate}, {"sequence", &StepFlags::sequence}};
constexpr std::pair<const char*, double StepFlags::*> kNumbers[] = {
    {"step_ms", &StepFlags::step_ms}, {"bucket_mb", &StepFlags::bucket_mb}, {"data_ms", &StepFlags::data_ms}};
constexpr std::pair<const char*, std::string StepFlags::*> kTexts[] = {
    {"precision", &StepFlags::precision},  {"gradients", &StepFlags::gradients},
    {"compress", &StepFlags::compression}, {"distribution", &StepFlags::distribution},
    {"optimizer", &StepFlags::optimizer},  {"backend", &StepFlags::backend}};
constexpr std::pair<const char*, bool StepFlags::*> kSwitches[] = {{"no_overlap", &StepFlags::no_overlap}};

[[noreturn]] void refuse_value(std::string_view key, std::string_view wanted) {
  throw ConfigError(fmt::format("{}: it must be {}", key, wanted));
}

std::string text_in(const Json& value, std::string_view key) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kMostText)
    refuse_value(key, "a text of at most 1 MiB");
  return value.get<std::string>();
}

double number_in(const Json& value, std::string_view key, double least, double most) {
  const bool fits = value.is_number() && value.get<double>() >= least && value.get<double>() <= most;
  if (!fits) refuse_value(key, fmt::format("a number from {:g} to {:g}", least, most));
  return value.get<double>();
}

int whole_in(const Json& value, std::string_view key) {
  const double number = number_in(value, key, 1, 1 << 20);
  if (number != std::floor(number)) refuse_value(key, "a whole number");
  return static_cast<int>(number);
}

// A description as it was sent: the text of a file, or what YAML says as JSON.
std::string description_in(const Json& value, std::string_view key) {
  return value.is_object() ? value.dump() : text_in(value, key);
}

// "box.txt" of "2*box.txt:rtx3090@10gbe".
std::string_view file_part(std::string_view name) {
  if (const auto star = name.find('*'); star != std::string_view::npos) name.remove_prefix(star + 1);
  name = name.substr(0, name.rfind('@'));
  return name.substr(0, name.rfind(':'));
}

AskedMachine machine_in(const Json& value) {
  if (value.is_string()) return {text_in(value, "machines"), {}};
  if (!value.is_object() || !value.contains("name") || value.contains("matrix") == value.contains("yaml"))
    refuse_value("machines", "names, or objects of a name and a matrix or yaml");
  const char* key = value.contains("matrix") ? "matrix" : "yaml";
  AskedMachine machine{text_in(value["name"], "name of a machine"), description_in(value[key], key)};
  // "box.txt" of an rtx3090 is box.txt:rtx3090, and may be two nodes of it: 2*box.txt:rtx3090@10gbe.
  if (value.contains("gpu")) {
    const auto file = file_part(machine.name);
    const auto at = static_cast<std::size_t>(file.data() - machine.name.data()) + file.size();
    machine.name.insert(at, ":" + text_in(value["gpu"], "gpu"));
  }
  return machine;
}

Breakdown parts_in(const Json& value) {
  if (!value.is_object()) refuse_value("recorded_ms", "an object of a step's parts");
  Breakdown parts;
  for (const auto& [name, member] : kParts)
    if (value.contains(name)) parts.*member = number_in(value[name], name, 0, 1e9) / 1e3;
  return parts;
}

Json parts_json(const Breakdown& parts) {
  Json result = Json::object();
  for (const auto& [name, member] : kParts) result[name] = parts.*member * 1e3;
  return result;
}

Anchor anchor_in(const Json& value) {
  if (!value.is_object() || !value.contains("step_ms")) refuse_value("anchor", "an object with step_ms");
  Anchor anchor;
  anchor.step = number_in(value["step_ms"], "step_ms", 0.001, 1e9) / 1e3;
  if (value.contains("batch")) anchor.batch = whole_in(value["batch"], "batch");
  if (value.contains("accumulate")) anchor.accumulate = whole_in(value["accumulate"], "accumulate");
  if (value.contains("precision"))
    anchor.precision = parse_precision(text_in(value["precision"], "precision"));
  if (value.contains("recorded_ms")) anchor.recorded = parts_in(value["recorded_ms"]);
  return anchor;
}

bool read_flag(const std::string& key, const Json& value, StepFlags& flags) {
  for (const auto& [name, member] : kWholeNumbers)
    if (key == name) return flags.*member = whole_in(value, key), true;
  for (const auto& [name, member] : kNumbers)
    if (key == name) return flags.*member = number_in(value, key, key == "data_ms" ? 0 : 0.001, 1e9), true;
  for (const auto& [name, member] : kTexts)
    if (key == name) return flags.*member = text_in(value, key), true;
  for (const auto& [name, member] : kSwitches)
    if (key == name) {
      if (!value.is_boolean()) refuse_value(key, "true or false");
      return flags.*member = value.get<bool>(), true;
    }
  return false;
}

void read_model(const Json& value, PageQuestion& question) {
  if (value.is_string()) {
    question.model = text_in(value, "model");
    return;
  }
  if (!value.is_object()) refuse_value("model", "a name, or a model's YAML as an object");
  question.description = value.dump();
  const bool named = value.contains("name") && value["name"].is_string();
  question.model = (named ? value["name"].get<std::string>() : "model") + ".yaml";
}

void read_entry(const std::string& key, const Json& value, PageQuestion& question) {
  if (key == "model") {
    read_model(value, question);
  } else if (key == "machines") {
    if (!value.is_array() || value.empty() || value.size() > kMostMachines)
      refuse_value(key, fmt::format("a list of 1 to {} machines", kMostMachines));
    for (const Json& one : value) question.machines.push_back(machine_in(one));
  } else if (key == "env") {
    if (!value.is_object()) refuse_value(key, "an object of NCCL's variables");
    for (const auto& [name, setting] : value.items()) question.flags.nccl[name] = text_in(setting, name);
  } else if (key == "anchor") {
    question.anchor = anchor_in(value);
  } else if (key == "sweep") {
    question.sweep = text_in(value, key);
  } else if (!read_flag(key, value, question.flags)) {
    throw ConfigError(fmt::format("there is no '{:.40}' in a question", key));
  }
}

// The one file that a machine's name means, if it means one.
class PastedFile : public NamedFiles {
 public:
  explicit PastedFile(const AskedMachine& machine) : machine_(machine) {}
  bool has(std::string_view name) const override {
    return machine_.text && name == file_part(trim(machine_.name));
  }
  bool is_folder(std::string_view) const override { return false; }
  std::string read(std::string_view) const override { return *machine_.text; }

 private:
  const AskedMachine& machine_;
};

Json machine_json_of(const AskedMachine& machine) {
  if (!machine.text) return machine.name;
  if (Json yaml = Json::parse(*machine.text, nullptr, false); yaml.is_object())
    return {{"name", machine.name}, {"yaml", std::move(yaml)}};
  return {{"name", machine.name}, {"matrix", *machine.text}};
}

std::string number_word(double value) { return fmt::format("{}", value); }

// Calls `put` with the name and value of each flag that has not its usual value.
template <typename Put>
void each_flag(const StepFlags& flags, Put put) {
  const StepFlags usual;
  for (const auto& [name, member] : kWholeNumbers)
    if (flags.*member != usual.*member) put(name, flags.*member);
  for (const auto& [name, member] : kNumbers)
    if (flags.*member != usual.*member) put(name, flags.*member);
  for (const auto& [name, member] : kTexts)
    if (flags.*member != usual.*member) put(name, flags.*member);
  for (const auto& [name, member] : kSwitches)
    if (flags.*member != usual.*member) put(name, flags.*member);
}

struct CommandWriter {
  std::string& text;
  void flag(std::string name) const {
    for (char& c : name) c = c == '_' ? '-' : c;
    text += " --" + name;
  }
  void operator()(const char* name, const std::string& value) const {
    flag(name), text += " " + quoted_word(value);
  }
  void operator()(const char* name, double value) const { flag(name), text += " " + number_word(value); }
  void operator()(const char* name, int value) const { flag(name), text += fmt::format(" {}", value); }
  void operator()(const char* name, bool) const { flag(name); }
};

}  // namespace

PageQuestion parse_question(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_object()) throw ConfigError("a question is a JSON object of model and machines");
  PageQuestion question;
  for (const auto& [key, entry] : value.items())
    if (!entry.is_null()) read_entry(key, entry, question);
  if (question.model.empty())
    throw ConfigError("model is missing: a name of `gradwire list models`, or YAML");
  if (question.machines.empty()) throw ConfigError("machines is missing: a list of at least one");
  return question;
}

Json question_json(const PageQuestion& question) {
  Json result = {{"model", question.model}, {"machines", Json::array()}};
  if (question.description) result["model"] = Json::parse(*question.description);
  for (const AskedMachine& machine : question.machines)
    result["machines"].push_back(machine_json_of(machine));
  each_flag(question.flags, [&](const char* name, const auto& value) { result[name] = value; });
  if (!question.flags.nccl.empty()) result["env"] = question.flags.nccl;
  if (const auto& anchor = question.anchor) {
    result["anchor"] = {
        {"step_ms", anchor->step * 1e3}, {"batch", anchor->batch}, {"accumulate", anchor->accumulate}};
    if (anchor->precision) result["anchor"]["precision"] = name_of(*anchor->precision);
    if (anchor->recorded) result["anchor"]["recorded_ms"] = parts_json(*anchor->recorded);
  }
  if (!question.sweep.empty()) result["sweep"] = question.sweep;
  return result;
}

std::string quoted_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:@=+,%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_of(const PageQuestion& question) {
  std::string text;
  for (const auto& [name, value] : question.flags.nccl) text += name + "=" + quoted_word(value) + " ";
  text += "gradwire compare " + quoted_word(question.model);
  for (const AskedMachine& machine : question.machines) text += " --on " + quoted_word(machine.name);
  each_flag(question.flags, CommandWriter{text});
  if (!question.sweep.empty()) text += " --sweep " + quoted_word(question.sweep);
  return text;
}

std::vector<Machine> machines_of(const PageQuestion& question) {
  std::vector<Machine> machines;
  for (const AskedMachine& asked : question.machines) {
    machines.push_back(find_machine(asked.name, PastedFile(asked)));
    machines.back().name = asked.name;
  }
  return machines;
}

}  // namespace gradwire
