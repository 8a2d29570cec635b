#include "cli/compare_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "explain/analysis.h"
#include "explain/kernel_precision.h"
#include "import/file_kind.h"
#include "import/profile.h"
#include "import/read_all.h"
#include "predict/compare/compare.h"
#include "predict/step/recorded.h"
#include "predict/workload/catalog.h"
#include "report/compare/compare.h"
#include "topo/import/machine_file.h"
#include "topo/import/matrix.h"
#include "topo/yaml_node.h"

namespace gradwire {
namespace {

// What was recorded, and what is known of the run.
struct Recorded {
  RecordedModel model;
  std::string source;
  std::optional<Precision> precision = {};  // as its kernels tell it
  std::optional<TracedRun> run = {};
};

Recorded recorded_by_gradwire(const std::string& file, double parameters) {
  if (parameters > 0)
    throw ConfigError(fmt::format("--parameters: {} tells its gradients itself; leave it out", file));
  const Timeline timeline = read_timeline(file);
  return {model_of(timeline, file), timeline.source};
}

// One trace, or those of all ranks.
Recorded recorded_by_profiler(const std::vector<Profile>& profiles, const std::string& name,
                              double parameters, std::vector<std::string>& notes) {
  for (const Profile& profile : profiles)
    for (const std::string& note : profile.notes) notes.push_back(fmt::format("{}: {}", profile.file, note));
  const RunAnalysis analysis = analyze_profiles(profiles);
  Recorded recorded{recorded_run(profiles, analysis, parameters).recorded, {}};
  recorded.model.workload.name = recorded.model.workload.source = name;
  recorded.source = recorded.model.workload.title;
  recorded.precision = find_precision(profiles.front());
  recorded.run = traced_run(analysis, name);
  return recorded;
}

bool is_folder(const std::string& name) { return std::filesystem::is_directory(name); }

// An answer has a screen.
std::vector<std::string> shortened(std::vector<std::string> left_out, const std::string& folder) {
  if (left_out.size() < 3) return left_out;
  const auto more = left_out.size() - 1;
  return {std::move(left_out.front()),
          fmt::format("and {} more files, which gradwire analyze {} names", more, folder)};
}

Recorded recorded_in(const std::string& name, double parameters, std::vector<std::string>& notes) {
  if (is_folder(name)) {
    Gathered gathered = read_all({name});
    notes = shortened(left_out_notes(gathered), name);
    if (!gathered.profiles.empty()) return recorded_by_profiler(gathered.profiles, name, parameters, notes);
    for (const ReadFile& file : gathered.files)
      if (file.kind == FileKind::timeline) return recorded_by_gradwire(file.file, parameters);
    throw ConfigError(fmt::format("{}: there is no trace in that folder", name));
  }
  const FileKind kind = kind_of(head_of(name, 1 << 16));
  if (kind == FileKind::timeline) return recorded_by_gradwire(name, parameters);
  if (kind != FileKind::profile)
    throw ConfigError(
        fmt::format("{}: this is {}; a trace of torch.profiler or of `gradwire train --trace` is needed here",
                    name, words_for(kind)));
  std::vector<Profile> one;
  one.push_back(read_profile(name));
  return recorded_by_profiler(one, name, parameters, notes);
}

Question question_of_trace(const std::string& file, const StepFlags& flags, double parameters, bool stated) {
  if (sequence_of(flags)) throw ConfigError("--sequence: a trace holds its own sequences; leave it out");
  std::vector<std::string> warnings;
  Recorded recorded = recorded_in(file, parameters, warnings);
  auto options = step_options(flags, recorded.model.workload);
  const bool on_cpu = recorded.model.on_processor && !options.anchor;
  if (!options.anchor) {
    options.anchor = recorded.model.anchor;
    if (recorded.precision && !stated) options.precision = *recorded.precision;
    if (recorded.precision || stated || !recorded.run) options.anchor->precision = options.precision;
  }
  return {std::move(recorded.model.workload), options, on_cpu ? cpu_premise(file) : std::string(),
          join(warnings, "; "), std::move(recorded.run)};
}

using Json = nlohmann::json;

// As it was written: scalars stay texts.
Json as_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::none:
      return nullptr;
    case YamlNode::Kind::scalar:
      return node.scalar;
    case YamlNode::Kind::list: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(as_json(item));
      return list;
    }
    case YamlNode::Kind::map:
      break;
  }
  Json map = Json::object();
  for (std::size_t i = 0; i < node.keys.size(); ++i) map[node.keys[i].scalar] = as_json(node.items[i]);
  return map;
}

// Names of files need not be UTF-8.
std::string dumped(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

// A recorded model as its file would describe it.
Json described_workload(const Workload& workload) {
  Json layers = Json::array();
  for (const Layer& layer : workload.layers)
    layers.push_back({{"name", layer.name},
                      {"kind", to_string(layer.kind)},
                      {"flops", layer.flops},
                      {"elements", layer.elements},
                      {"tensors", layer.tensors}});
  return {{"name", workload.name},
          {"title", workload.title},
          {"family", to_string(workload.family)},
          {"sample", workload.sample},
          {"sequence", workload.sequence},
          {"batch", workload.batch},
          {"optimizer", workload.optimizer},
          {"layers", layers}};
}

bool can_be_asked_again(const AskedMachine& machine) {
  const auto star = machine.name.find('*');
  const auto base = star == std::string::npos ? machine.name : machine.name.substr(star + 1);
  const bool this_machine = base == "this" || base.starts_with("this@");
  return !this_machine && !(machine.text && trim(*machine.text).starts_with('<'));
}

// A matrix stays as it is; what a page reads of YAML is JSON.
AskedMachine as_page_reads_it(AskedMachine machine) {
  if (machine.text && (looks_like_machine_file(*machine.text) || !looks_like_matrix(*machine.text)))
    machine.text = dumped(as_json(load_yaml(*machine.text, machine.name)));
  return machine;
}

}  // namespace

Timeline recorded_timeline(const std::string& file) {
  if (is_folder(file)) throw ConfigError(fmt::format("{}: this is a folder; give one of its files", file));
  if (kind_of(head_of(file, 1 << 16)) != FileKind::profile) return read_timeline(file);
  return timeline_of(read_profile(file));
}

bool is_trace(const std::string& model) {
  return model.ends_with(".json") || model.ends_with(".json.gz") || is_folder(model);
}

Question question_of(const std::string& model, const StepFlags& flags, double parameters, bool stated) {
  if (is_trace(model)) return question_of_trace(model, flags, parameters, stated);
  if (parameters > 0)
    throw ConfigError(fmt::format("--parameters is of a trace; {} says its own size: leave it out", model));
  auto workload = load_model(model, sequence_of(flags));
  const auto options = step_options(flags, workload);
  return {std::move(workload), options, {}, {}, {}};
}

Json page_question(const std::string& model, const Question& asked, const StepFlags& flags,
                   const std::vector<AskedMachine>& machines) {
  if (!std::ranges::all_of(machines, can_be_asked_again)) return nullptr;
  PageQuestion question{
      .model = model, .description = {}, .machines = machines, .flags = flags, .anchor = {}, .sweep = {}};
  question.flags.precision = name_of(parse_precision(flags.precision));  // of its names the page's own
  for (AskedMachine& machine : question.machines) machine = as_page_reads_it(std::move(machine));
  if (is_trace(model)) {
    question.description = dumped(described_workload(asked.workload));
    if (flags.step_ms == 0) question.anchor = asked.options.anchor;
  } else if (!find_model(model)) {
    question.description = dumped(as_json(load_yaml(read_file(model), model)));
  }
  return question_json(question);
}

}  // namespace gradwire
