#include "predict/workload/catalog.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/similar.h"
#include "predict/presets.h"
#include "predict/workload/builders.h"
#include "predict/workload/transformer.h"

namespace gradwire {
namespace {

constexpr Range kAnySize = {0, 1 << 24}, kAnyCount = {0, 1e15};

const YamlMap& catalog_file() {
  static const YamlMap file = parse_yaml(workload_preset_text("models.yaml"), "presets/models.yaml");
  return file;
}

Family family_in(const YamlMap& entry, Family otherwise) {
  const auto text = entry.find_text("family");
  if (!text) return otherwise;
  const auto family = find_family(*text);
  if (!family) entry.fail("family", "cnn, transformer or other");
  return *family;
}

ModelEntry read_entry(const YamlMap& entry) {
  entry.only({"name", "title", "family", "sample", "sequence", "context", "batch", "optimizer", "parameters",
              "source", "transformer", "resnet", "vit", "bert", "transformer_xl"});
  const int sequence = entry.find_integer("sequence", kAnySize).value_or(0);
  const std::string source = entry.text("source");
  return {entry.text("name"),
          entry.text("title"),
          family_in(entry, sequence > 0 ? Family::transformer : Family::cnn),
          entry.find_text("sample").value_or(sequence > 0 ? "sequence" : "image"),
          sequence,
          entry.find_integer("context", kAnySize).value_or(0),
          static_cast<int>(entry.number("batch", kAnySize)),
          entry.find_text("optimizer").value_or(sequence > 0 ? "adam" : "sgd"),
          static_cast<std::uint64_t>(entry.number("parameters", kAnyCount)),
          catalog_file().find_map("sources")->find_text(source).value_or(source)};
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> all;
  for (const auto& entry : all_models()) all.push_back(entry.name);
  throw ConfigError(
      fmt::format("'{:.60}' is not a model{}; see `gradwire list models`, or write a YAML file as "
                  "presets/models/example.yaml",
                  name, did_you_mean(name, all)));
}

void check_sequence(const ModelEntry& entry, int sequence) {
  if (entry.sequence == 0)
    throw ConfigError(fmt::format("a sequence of {} tokens: {} takes {}s, which have none; leave it out",
                                  sequence, entry.name, entry.sample));
  if (entry.context > 0 && sequence > entry.context)
    throw ConfigError(
        fmt::format("a sequence of {} tokens: {} takes 1 to {}", sequence, entry.name, entry.context));
}

}  // namespace

const std::vector<ModelEntry>& all_models() {
  static const auto all = [] {
    std::vector<ModelEntry> models;
    for (const YamlMap& entry : catalog_file().maps("models")) models.push_back(read_entry(entry));
    return models;
  }();
  return all;
}

std::optional<ModelEntry> find_model(std::string_view name) {
  for (const auto& entry : all_models())
    if (entry.name == name) return entry;
  return std::nullopt;
}

std::optional<YamlMap> find_model_sizes(std::string_view name, std::string_view kind) {
  static const auto models = [] {
    std::map<std::string, YamlMap, std::less<>> by_name;
    for (const YamlMap& model : catalog_file().maps("models")) by_name.emplace(model.text("name"), model);
    return by_name;
  }();
  const auto found = models.find(name);
  return found == models.end() ? std::nullopt : found->second.find_map(kind);
}

Family guess_family(std::string_view name, std::string_view sample) {
  if (const auto entry = find_model(name)) return entry->family;
  for (const YamlMap& family : catalog_file().maps("families"))
    for (const std::string& word : family.texts("words"))
      if (name.find(word) != std::string_view::npos) return family_in(family, Family::other);
  if (sample == "image") return Family::cnn;
  return sample == "sequence" || sample == "token" ? Family::transformer : Family::other;
}

Workload build_model(std::string_view name, std::optional<int> sequence) {
  const auto entry = find_model(name);
  if (!entry) fail_unknown(name);
  if (sequence && (*sequence < 1 || *sequence > 1 << 20))
    throw ConfigError(fmt::format("a sequence of {} tokens: write 1 to 1048576", *sequence));
  const int tokens = entry->sequence == 0 ? 0 : sequence.value_or(entry->sequence);
  return {entry->name,  entry->title, entry->family,    entry->sample,
          tokens,       entry->batch, entry->optimizer, build_layers(name, tokens),
          entry->source};
}

Workload load_model(std::string_view name_or_file, std::optional<int> sequence) {
  const auto entry = find_model(name_or_file);
  if (entry && sequence) check_sequence(*entry, *sequence);
  if (entry || name_or_file.find_first_of("./") == std::string_view::npos)
    return build_model(name_or_file, sequence);
  return parse_model(read_file(name_or_file), name_or_file, sequence);
}

const ModelEntry* find_alike(Family family, double parameters, std::string_view sample, int sequence) {
  const auto distance = [&](const ModelEntry& entry) {
    return std::abs(std::log(static_cast<double>(entry.parameters) / parameters));
  };
  const ModelEntry* nearest = nullptr;
  for (const ModelEntry& entry : all_models()) {
    const auto sizes = find_transformer(entry.name);
    const bool takes = entry.context == 0 || sequence <= entry.context;
    if (entry.family != family || entry.sample != sample || !takes || (sizes && sizes->moe())) continue;
    if (nearest == nullptr || distance(entry) < distance(*nearest)) nearest = &entry;
  }
  return nearest;
}

std::optional<TransformerSizes> find_transformer(std::string_view name) {
  static const auto all = [] {
    std::map<std::string, TransformerSizes, std::less<>> by_name;
    for (const ModelEntry& model : all_models())
      if (const auto sizes = find_model_sizes(model.name, "transformer"))
        by_name.emplace(model.name, read_sizes(model.name, model.sequence, *sizes));
    return by_name;
  }();
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

TransformerSizes transformer_sizes(std::string_view name, std::optional<int> sequence) {
  if (auto sizes = find_transformer(name)) {
    load_model(name, sequence);  // says what is wrong with a sequence
    if (sequence) sizes->sequence = *sequence;
    return *sizes;
  }
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    auto sizes = parse_transformer(read_file(name), name, sequence);
    load_model(name, sequence);  // says what else is wrong with the file
    return sizes;
  }
  if (name.ends_with(".json") || name.ends_with(".json.gz"))
    throw ConfigError(
        fmt::format("{:.60}: a trace does not say how its model can be cut; name a transformer of `gradwire "
                    "list models`, or write its sizes into a file as presets/models/example.yaml says",
                    name));
  if (!find_model(name)) fail_unknown(name);
  throw ConfigError(
      fmt::format("{} can't be cut: only transformers of known sizes are split over GPUs; `gradwire compare` "
                  "prices it with data parallelism",
                  name));
}

}  // namespace gradwire
