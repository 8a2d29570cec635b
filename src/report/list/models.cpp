#include <fmt/format.h>

#include "predict/workload/catalog.h"
#include "report/list/lists.h"

namespace gradwire {
namespace {

std::string gigaflops(double flops) {
  return fmt::format(fmt::runtime(flops < 1e12 ? "{:.3g}" : "{:.0f}"), flops / 1e9);
}

nlohmann::json models_data() {
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

constexpr Listing kListings[] = {
    {"gpus", "GPUs: compute, memory, NVLink, PCIe", gpus_report},
    {"links", "links and processors, with what they achieve", links_report},
    {"networks", "networks between nodes: Ethernet, InfiniBand, EFA", networks_report},
    {"machines", "machines for --on MACHINE", machines_report},
    {"models", "models for compare MODEL and train MODEL --on MACHINE", models_report},
};

}  // namespace

std::span<const Listing> listings() { return kListings; }

Report contents_report() {
  Report report;
  report.data["lists"] = nlohmann::json::array();
  report.add(Title{"What is built in:"});
  for (const Listing& listing : kListings) {
    report.data["lists"].push_back(listing.name);
    report.add(Sentence{fmt::format("  gradwire list {:<10} {}", listing.name, listing.what)});
  }
  return report;
}

Report listing(const std::string& name, nlohmann::json entries, const std::vector<Table>& tables,
               std::string note) {
  Report report;
  for (const Table& table : tables) report.add(table, Gap{});
  report.add(Sentence{std::move(note)});
  report.data[name] = std::move(entries);
  return report;
}

Report models_report() {
  Table table{
      .rows = {{"model", "parameters", "batch", "GFLOP", "what it is"}}, .left = 1, .prose_last = true};
  for (const ModelEntry& entry : all_models())
    table.rows.push_back({std::string(entry.name),
                          fmt::format("{:.1f} M", static_cast<double>(entry.parameters) / 1e6),
                          fmt::format("{}", entry.batch), gigaflops(forward_flops(build_model(entry.name))),
                          std::string(entry.title)});
  return listing(
      "models", models_data(), {table},
      "batch: per GPU, when you say none. GFLOP: of one sample, forward. A model of your own: write YAML as "
      "presets/models/example.yaml");
}

}  // namespace gradwire
