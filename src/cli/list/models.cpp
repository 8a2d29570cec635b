#include "cli/list/models.h"

#include <fmt/format.h>

#include "predict/workload/catalog.h"

namespace gradwire {

std::string models_text() {
  auto text = fmt::format("{:24}{:>12}{:>9}{:>8}{:>10}  {}\n", "model", "parameters", "tensors", "batch",
                          "GFLOP", "");
  for (const auto& entry : all_models()) {
    const auto workload = build_model(entry.name);
    text +=
        fmt::format("{:24}{:>10.1f} M{:>9}{:>8}{:>10.3g}  {}\n", entry.name, double(entry.parameters) / 1e6,
                    tensor_count(workload), entry.batch, forward_flops(workload) / 1e9, entry.title);
  }
  return text + "GFLOP: of one sample, forward. A model of your own: see presets/models/example.yaml.\n";
}

nlohmann::json models_json() {
  auto models = nlohmann::json::array();
  for (const auto& entry : all_models()) {
    const auto workload = build_model(entry.name);
    models.push_back({{"name", entry.name},
                      {"title", entry.title},
                      {"family", to_string(entry.family)},
                      {"parameters", entry.parameters},
                      {"tensors", tensor_count(workload)},
                      {"forward_flops", forward_flops(workload)},
                      {"sample", entry.sample},
                      {"sequence", entry.sequence},
                      {"batch", entry.batch},
                      {"optimizer", entry.optimizer},
                      {"source", entry.source}});
  }
  return models;
}

}  // namespace gradwire
