#include "cli/list/models.h"

#include <fmt/format.h>

#include "predict/workload/catalog.h"
#include "report/wrap.h"

namespace gradwire {

namespace {

constexpr std::size_t kTitleColumn = 49;

std::string gigaflops(double flops) {
  return fmt::format(fmt::runtime(flops < 1e12 ? "{:.3g}" : "{:.0f}"), flops / 1e9);
}

std::string model_row(const ModelEntry& entry) {
  const auto parameters = fmt::format("{:.1f} M", static_cast<double>(entry.parameters) / 1e6);
  return wrapped(fmt::format("{:22}{:>11}{:>6}{:>8}  {}", entry.name, parameters, entry.batch,
                             gigaflops(forward_flops(build_model(entry.name))), entry.title),
                 kTitleColumn);
}

}  // namespace

std::string models_text() {
  auto text = fmt::format("{:22}{:>11}{:>6}{:>8}  what it is\n", "model", "parameters", "batch", "GFLOP");
  for (const auto& entry : all_models()) text += model_row(entry);
  return text + "\n" +
         wrapped(
             "batch: per GPU, when you say none. GFLOP: of one sample, forward. A model of your own: write "
             "YAML as presets/models/example.yaml",
             0);
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
