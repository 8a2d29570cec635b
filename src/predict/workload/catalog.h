// The models that are built in, by name; models a user describes in YAML; and, for a name nobody knows, a
// stand-in of the right size made from its parameter count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predict/workload/transformer.h"
#include "predict/workload/workload.h"

namespace gradwire {

struct ModelEntry {
  std::string name, title;
  Family family;
  std::string sample;
  int sequence;  // 0: it has none
  int context;   // the longest sequence it takes; 0: any
  int batch;     // per GPU, a usual one
  std::string optimizer;
  std::uint64_t parameters;  // as published; what is built has as many, which a test checks
  std::string source;        // of that number
};

const std::vector<ModelEntry>& all_models();  // presets/models.yaml, compiled in

std::optional<ModelEntry> find_model(std::string_view name);

// Built with another sequence length if one is given. Throws ConfigError with near names.
Workload build_model(std::string_view name, std::optional<int> sequence = {});

// What --model and `compare MODEL` take: a built-in name, or a YAML file (a path with a dot or a slash).
// Throws ConfigError also for a sequence the model can't take.
Workload load_model(std::string_view name_or_file, std::optional<int> sequence = {});

// As presets/models/example.yaml shows. Throws ConfigError naming `where`, the layer and what would be right. A sequence is for a
// model that is known by its sizes; layers say what one of their samples costs.
Workload parse_model(std::string_view yaml, std::string_view where, std::optional<int> sequence = {});

// The sizes of a model whose file has them. Throws ConfigError.
TransformerSizes parse_transformer(std::string_view yaml, std::string_view where,
                                   std::optional<int> sequence = {});

// The built-in model of that family nearest in size, with such samples and sequences as long as that. Mixtures of experts
// are like no other. Null: there is none.
const ModelEntry* find_alike(Family, double parameters, std::string_view sample, int sequence);

// A model of which little is known: the layers of a typical one of its family, scaled to the parameter count.
struct StandIn {
  std::string name;
  std::uint64_t parameters = 0;
  Family family = Family::other;
  std::string sample = "image";
  std::optional<int> sequence = {};
  std::string_view like = {};  // a built-in model to take the shape of; empty: the usual one of its family
};
Workload build_stand_in(const StandIn&);

// The family of a name that is not built in, as far as names tell; by what a sample is otherwise.
Family guess_family(std::string_view name, std::string_view sample);

}  // namespace gradwire
