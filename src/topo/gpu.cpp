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
  nvlink->only({"gen", "links", "gb_per_s", "nccl_gb_per_s", "nvswitch", "mesh"});
  gpu.nvlink_gen = nvlink->find_integer("gen", {1, 9}).value_or(0);
  gpu.nvlink_links = nvlink->find_integer("links", {1, 72}).value_or(0);
  gpu.nvlink_bytes_per_s_per_link = nvlink->number("gb_per_s", kFarAbove) * kGiga;
  gpu.nccl_bytes_per_s_per_link = nvlink->find_number("nccl_gb_per_s", kFarAbove)
                                      .value_or(0.8 * gpu.nvlink_bytes_per_s_per_link / kGiga) *
                                  kGiga;
  gpu.nvswitch = nvlink->find_flag("nvswitch").value_or(false);
  gpu.nvlink_mesh = nvlink->find_flag("mesh").value_or(false);
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

// Words of GPUs' names that mean nothing to us, and those that make another card of the one they follow.
struct NameWords {
  std::vector<std::string> idle, other_card;
};

const NameWords& name_words() {
  static const NameWords words = [] {
    const auto map = parse_built_in(preset_text("gpus.yaml"), "presets/gpus.yaml").find_map("name_words");
    check(map.has_value(), "presets/gpus.yaml has name_words");
    map->only({"idle", "other_card"});
    return NameWords{map->texts("idle"), map->texts("other_card")};
  }();
  return words;
}

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::vector<std::string> words_in(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(name)) {
    if (is_letter_or_digit(c))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// "NVIDIA GeForce RTX 3090", "rtx-3090" and "RTX3090" are all rtx3090.
std::string plain_name(const std::vector<std::string>& words) {
  std::string plain;
  const auto& idle = name_words().idle;
  for (const std::string& word : words)
    if (std::ranges::find(idle, word) == idle.end()) plain += word;
  return plain;
}

std::string plain_name(std::string_view name) { return plain_name(words_in(name)); }

// As presets, records and most users write it: nothing has to be compared word by word.
bool has_id(const Gpu& gpu, std::string_view id) {
  return gpu.id == id || std::ranges::find(gpu.aliases, id) != gpu.aliases.end();
}

bool is_called(const Gpu& gpu, std::string_view plain) {
  const auto is_it = [&](std::string_view name) { return plain_name(name) == plain; };
  return is_it(gpu.id) || is_it(gpu.name) || std::ranges::any_of(gpu.aliases, is_it) ||
         std::ranges::any_of(gpu.matches, is_it);
}

// "Tesla V100-SXM2-16GB" is a V100-SXM2: where memory tells cards apart, a match has it.
std::string without_memory(std::vector<std::string> words) {
  const bool sized = words.size() > 1 && words.back().ends_with("gb") &&
                     find_integer<int>(words.back().substr(0, words.back().size() - 2));
  if (sized) words.pop_back();
  return plain_name(words);
}

// "RTX 3080 Ti" is another card than "RTX 3080".
bool is_another_card(std::string_view behind) {
  if (!behind.starts_with(' ')) return false;
  behind.remove_prefix(1);
  const auto goes_on = [&](const std::string& word) {
    return behind.starts_with(word) &&
           (behind.size() == word.size() || !is_letter_or_digit(behind[word.size()]));
  };
  return std::ranges::any_of(name_words().other_card, goes_on);
}

// "A10" must not be found in "A100".
bool occurs_as_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool whole = (at == 0 || !is_letter_or_digit(text[at - 1])) &&
                       (end == text.size() || !is_letter_or_digit(text[end]));
    if (whole && !is_another_card(text.substr(end))) return true;
  }
  return false;
}

}  // namespace

std::vector<Gpu> read_gpus(const YamlMap& file) {
  std::vector<Gpu> gpus;
  for (const YamlMap& entry : file.maps("gpus")) gpus.push_back(gpu_preset(entry));
  return gpus;
}

const std::vector<Gpu>& all_gpus() {
  static const std::vector<Gpu> gpus =
      read_gpus(parse_built_in(preset_text("gpus.yaml"), "presets/gpus.yaml"));
  return gpus;
}

const Gpu* find_gpu_called(std::string_view called) {
  for (const Gpu& gpu : all_gpus())
    if (has_id(gpu, called)) return &gpu;
  const auto words = words_in(called);
  for (const Gpu& gpu : all_gpus())
    if (is_called(gpu, plain_name(words))) return &gpu;
  for (const Gpu& gpu : all_gpus())
    for (const std::string& match : gpu.matches)
      if (plain_name(match) == without_memory(words)) return &gpu;
  return nullptr;
}

Gpu find_gpu(std::string_view called) {
  if (const Gpu* gpu = find_gpu_called(called)) return *gpu;
  std::vector<std::string> ids;
  for (const Gpu& gpu : all_gpus()) ids.push_back(gpu.id);
  throw ConfigError(fmt::format("'{}' is not a GPU Gradwire knows{}; see `gradwire list gpus`", called,
                                did_you_mean(lower_case(called), ids)));
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
