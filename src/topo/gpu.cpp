#include "topo/gpu.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr Range kFarAbove = {0, 1e6};  // TFLOP/s, GB, GB/s: far above anything, far below overflow

void read_flops(const YamlMap& entry, Gpu& gpu) {
  const auto tflops = entry.find_map("tflops");
  if (!tflops) entry.fail("tflops", "a map of fp32, tf32, fp16, bf16");
  tflops->only({"fp32", "tf32", "fp16", "bf16"});
  gpu.fp32_flops = tflops->number("fp32", kFarAbove) * kTera;
  gpu.tf32_flops = tflops->find_number("tf32", kFarAbove).value_or(0) * kTera;
  gpu.fp16_flops = tflops->find_number("fp16", kFarAbove).value_or(0) * kTera;
  gpu.bf16_flops = tflops->find_number("bf16", kFarAbove).value_or(0) * kTera;
}

void read_memory(const YamlMap& entry, Gpu& gpu) {
  const auto memory = entry.find_map("memory");
  if (!memory) entry.fail("memory", "a map of gb and gb_per_s");
  memory->only({"gb", "gb_per_s"});
  gpu.memory_bytes = static_cast<Bytes>(memory->number("gb", kFarAbove) * (1 << 30));  // as memory is sold
  gpu.memory_bytes_per_s = memory->number("gb_per_s", kFarAbove) * kGiga;
}

void read_nvlink(const YamlMap& entry, Gpu& gpu) {
  const auto nvlink = entry.find_map("nvlink");
  if (!nvlink) return;
  nvlink->only({"gen", "links", "gb_per_s", "nccl_gb_per_s", "nvswitch"});
  gpu.nvlink_gen = nvlink->find_integer("gen", {1, 9}).value_or(0);
  gpu.nvlink_links = nvlink->find_integer("links", {1, 72}).value_or(0);
  gpu.nvlink_bytes_per_s_per_link = nvlink->number("gb_per_s", kFarAbove) * kGiga;
  gpu.nccl_bytes_per_s_per_link = nvlink->find_number("nccl_gb_per_s", kFarAbove)
                                      .value_or(0.8 * gpu.nvlink_bytes_per_s_per_link / kGiga) *
                                  kGiga;
  gpu.nvswitch = nvlink->find_flag("nvswitch").value_or(false);
}

void read_pcie(const YamlMap& entry, Gpu& gpu) {
  const auto pcie = entry.find_map("pcie");
  if (!pcie) entry.fail("pcie", "a map of gen, width and p2p");
  pcie->only({"gen", "width", "p2p", "desktop"});
  gpu.pcie_gen = static_cast<int>(pcie->number("gen", {1, 6}));
  gpu.pcie_width = pcie->find_integer("width", {1, 16}).value_or(16);
  gpu.pcie_p2p = pcie->find_flag("p2p").value_or(false);
  gpu.desktop = pcie->find_flag("desktop").value_or(false);
}

Gpu gpu_preset(const YamlMap& entry) {
  entry.only({"id", "name", "aliases", "sm", "tflops", "memory", "nvlink", "c2c_gb_per_s", "gpus_per_cpu",
              "pcie", "usual_network", "matches", "source"});
  Gpu gpu;
  gpu.id = entry.text("id");
  gpu.name = entry.text("name");
  gpu.sm = static_cast<int>(entry.number("sm", {10, 999}));
  read_flops(entry, gpu);
  read_memory(entry, gpu);
  read_nvlink(entry, gpu);
  read_pcie(entry, gpu);
  gpu.c2c_bytes_per_s = entry.find_number("c2c_gb_per_s", kFarAbove).value_or(0) * kGiga;
  gpu.gpus_per_cpu = entry.find_integer("gpus_per_cpu", {1, 8}).value_or(gpu.gpus_per_cpu);
  if (const auto network = entry.find_map("usual_network")) {
    gpu.usual_gbit = network->number("gbit", kFarAbove);
    gpu.usual_cards_per_gpu = network->number("cards_per_gpu", {0, 64});
  }
  gpu.aliases = entry.texts("aliases");
  gpu.matches = entry.texts("matches");
  gpu.source = entry.text("source");
  return gpu;
}

bool is_called(const Gpu& gpu, std::string_view id) {
  return gpu.id == id || std::find(gpu.aliases.begin(), gpu.aliases.end(), id) != gpu.aliases.end();
}

// "RTX 3090" must not be found in "RTX 3090 Ti", which the longer match settles, nor "A10" in "A100".
bool occurs_as_word(std::string_view text, std::string_view word) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::vector<Gpu> parse_gpus(std::string_view yaml, std::string_view where) {
  std::vector<Gpu> gpus;
  for (const YamlMap& entry : parse_yaml(yaml, where).maps("gpus")) gpus.push_back(gpu_preset(entry));
  return gpus;
}

const std::vector<Gpu>& all_gpus() {
  static const std::vector<Gpu> gpus = parse_gpus(preset_text("gpus.yaml"), "presets/gpus.yaml");
  return gpus;
}

Gpu find_gpu(std::string_view id) {
  std::vector<std::string> ids;
  for (const Gpu& gpu : all_gpus()) {
    if (is_called(gpu, id)) return gpu;
    ids.push_back(gpu.id);
  }
  throw ConfigError(
      fmt::format("'{}' is not a GPU Gradwire knows{}; see gradwire list gpus", id, did_you_mean(id, ids)));
}

std::optional<Gpu> find_gpu_by_name(std::string_view text) {
  const Gpu* best = nullptr;
  std::size_t longest = 0;
  for (const Gpu& gpu : all_gpus())
    for (const std::string& match : gpu.matches)
      if (match.size() > longest && occurs_as_word(text, match)) {
        longest = match.size();
        best = &gpu;
      }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace gradwire
