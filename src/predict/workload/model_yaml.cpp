#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "predict/workload/builders.h"
#include "predict/workload/catalog.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr int kMostRepeats = 10'000;

class Reader {
 public:
  Reader(std::string_view where, std::optional<int> sequence) : where_(where), sequence_(sequence) {}

  Workload read(const YamlNode& root) const {
    check_keys(root);
    const YamlNode* layers = root.find("layers");
    if (root.find("transformer") != nullptr) return from_sizes(root);
    if (layers == nullptr) return stand_in(root);
    if (sequence_)
      throw ConfigError(
          fmt::format("a sequence of {} tokens: the layers of {} say what one of its samples costs; write "
                      "the numbers for that length there",
                      *sequence_, where_));
    Workload workload;
    common(root, workload);
    if (layers->items.empty() || layers->kind != YamlNode::Kind::list)
      fail("'layers' is a list of at least one layer");
    for (const auto& node : layers->items) add_layer(node, workload.layers);
    check_whole(root, workload);
    return workload;
  }

  TransformerSizes sizes(const YamlNode& root) const {
    check_keys(root);
    const auto map = YamlMap(root, where_).find_map("transformer");
    if (!map)
      throw ConfigError(fmt::format(
          "{}: a file does not say how its model can be cut unless it has its sizes: write 'sequence: 1024' "
          "and 'transformer: {{layers: 24, hidden: 1024, heads: 16, vocab: 50257}}' in place of 'layers'; "
          "see presets/models/example.yaml",
          where_));
    if (root.find("layers") != nullptr) fail("write 'layers' or 'transformer', not both");
    const int tokens = sequence_.value_or(value(root, "sequence", 0));
    if (tokens < 1 || tokens > 1 << 20) fail("'sequence' is the tokens of a sample, 1 to 1048576");
    return read_sizes(value<std::string>(root, "name", std::string(where_)), tokens, *map);
  }

 private:
  void check_keys(const YamlNode& root) const {
    if (root.kind != YamlNode::Kind::map) fail("expected keys such as 'name' and 'layers'");
    YamlMap(root, where_)
        .only({"name", "title", "family", "sample", "sequence", "batch", "optimizer", "layers", "transformer",
               "parameters"});
  }

  // One that its sizes say all of: sequences, Adam and a batch of one where nobody says otherwise.
  Workload from_sizes(const YamlNode& root) const {
    const auto shape = sizes(root);
    Workload workload;
    common(root, workload);
    workload.sequence = shape.sequence;
    workload.batch = value(root, "batch", 1);
    workload.sample = value<std::string>(root, "sample", "sequence");
    workload.optimizer = value<std::string>(root, "optimizer", "adam");
    if (root.find("family") == nullptr) workload.family = Family::transformer;
    workload.layers = transformer_layers(shape, shape.sequence);
    check_whole(root, workload);
    return workload;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(fmt::format("{}: {}; see presets/models/example.yaml", where_, what));
  }

  static void read_value(const YamlNode& node, std::optional<std::string>& value) {
    if (node.kind == YamlNode::Kind::scalar) value = node.scalar;
  }
  static void read_value(const YamlNode& node, std::optional<double>& value) {
    if (node.kind == YamlNode::Kind::scalar) value = find_yaml_number(node.scalar);
  }
  static void read_value(const YamlNode& node, std::optional<int>& value) {
    if (node.kind == YamlNode::Kind::scalar) value = find_integer<int>(node.scalar);
  }
  static void read_value(const YamlNode& node, std::optional<std::vector<double>>& value) {
    if (node.kind != YamlNode::Kind::list) return;
    value.emplace();
    for (const YamlNode& item : node.items) {
      std::optional<double> number;
      read_value(item, number);
      if (!number) return value.reset();
      value->push_back(*number);
    }
  }

  template <typename T>
  T value(const YamlNode& node, const char* key, T otherwise) const {
    const YamlNode* found = node.find(key);
    if (found == nullptr) return otherwise;
    std::optional<T> read;
    read_value(*found, read);
    if (!read) fail(fmt::format("{}'{}' has a value of the wrong type", line_of(*found), key));
    return *read;
  }

  static std::string line_of(const YamlNode& node) {
    return node.line == 0 ? "" : fmt::format("line {}: ", node.line);
  }

  void common(const YamlNode& root, Workload& workload) const {
    workload.name = value<std::string>(root, "name", std::string(where_));
    workload.title = value<std::string>(root, "title", workload.name);
    workload.sample = value(root, "sample", workload.sample);
    workload.sequence = value(root, "sequence", workload.sequence);
    workload.batch = value(root, "batch", workload.batch);
    workload.optimizer = value(root, "optimizer", workload.optimizer);
    workload.family = family(root, workload);
    workload.source = std::string(where_);
  }

  // Layers of a file that was cut off are still layers; a count tells.
  void check_whole(const YamlNode& root, const Workload& workload) const {
    const auto stated = value(root, "parameters", 0.0);
    const auto there = static_cast<double>(parameter_count(workload));
    if (root.find("parameters") != nullptr && !(std::abs(there - stated) <= 0.01 * stated))
      fail(fmt::format("'parameters: {:g}' but the layers have {:g}: are some missing?", stated, there));
  }

  Family family(const YamlNode& root, const Workload& workload) const {
    const auto text = value<std::string>(root, "family", "");
    if (text.empty()) return guess_family(workload.name, workload.sample);
    if (const auto known = find_family(text)) return *known;
    fail(fmt::format("'family: {}' is none of cnn, transformer, other", text));
  }

  Workload stand_in(const YamlNode& root) const {
    if (root.find("parameters") == nullptr)
      fail("needs 'layers', or 'parameters' and 'family', or 'transformer' and 'sequence'");
    const auto parameters = value(root, "parameters", 0.0);
    if (!(parameters >= 1000 && parameters <= 1e14)) fail("'parameters' is a number from 1000 to 1e14");
    Workload described;
    common(root, described);
    const ModelEntry* like = begin_alike(root, parameters, described);
    if (sequence_ && described.sequence == 0)
      throw ConfigError(fmt::format("a sequence of {} tokens: {} takes {}s, which have none; leave it out",
                                    *sequence_, described.name, described.sample));
    if (sequence_) described.sequence = *sequence_;
    const auto built = build_stand_in(
        {described.name, static_cast<std::uint64_t>(parameters), described.family, described.sample,
         described.sequence > 0 ? std::optional(described.sequence) : std::nullopt,
         like == nullptr ? std::string_view{} : std::string_view(like->name)});
    described.layers = built.layers;
    if (root.find("title") == nullptr) described.title = built.title;
    return described;
  }

  // What the file leaves open of a transformer begins as with the built-in one of its size.
  const ModelEntry* begin_alike(const YamlNode& root, double parameters, Workload& described) const {
    if (described.family != Family::transformer) return nullptr;
    const auto sample = value<std::string>(root, "sample", "sequence");
    const auto* like =
        find_alike(described.family, parameters, sample, sequence_.value_or(described.sequence));
    if (like == nullptr) return nullptr;
    described.sample = like->sample;
    described.sequence = like->sequence;
    described.batch = like->batch;
    described.optimizer = like->optimizer;
    common(root, described);
    return like;
  }

  void add_layer(const YamlNode& node, std::vector<Layer>& layers) const {
    if (node.kind != YamlNode::Kind::map) fail(line_of(node) + "a layer is a map of keys");
    YamlMap(node, where_).only({"name", "kind", "flops", "elements", "tensors", "repeat"});
    Layer layer;
    layer.name = value(node, "name", fmt::format("layer {}", layers.size()));
    layer.kind = parse_layer_kind(value<std::string>(node, "kind", "matmul"));
    layer.flops = value(node, "flops", 0.0);
    layer.elements = value(node, "elements", 0.0);
    for (const auto tensor : value<std::vector<double>>(node, "tensors", {})) {
      if (!(tensor >= 0 && tensor <= 1e15))
        fail(fmt::format("layer '{}': a tensor of {} elements", layer.name, tensor));
      layer.tensors.push_back(static_cast<std::uint64_t>(tensor));
    }
    const int repeat = value(node, "repeat", 1);
    if (repeat < 1 || repeat > kMostRepeats)
      fail(fmt::format("layer '{}': 'repeat: {}' is not 1 to {}", layer.name, repeat, kMostRepeats));
    layers.insert(layers.end(), static_cast<std::size_t>(repeat), layer);
  }

  std::string where_;
  std::optional<int> sequence_;
};

YamlNode read_text(std::string_view yaml, std::string_view where) {
  if (yaml.find('\0') != std::string_view::npos)
    throw ConfigError(fmt::format("{}: this is not YAML but a binary file", where));
  return load_yaml(yaml, where);
}

}  // namespace

Workload parse_model(std::string_view yaml, std::string_view where, std::optional<int> sequence) {
  auto workload = Reader(where, sequence).read(read_text(yaml, where));
  check_workload(workload);
  return workload;
}

TransformerSizes parse_transformer(std::string_view yaml, std::string_view where,
                                   std::optional<int> sequence) {
  return Reader(where, sequence).sizes(read_text(yaml, where));
}

}  // namespace gradwire
