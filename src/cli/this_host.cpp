#include "cli/this_host.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "base/error.h"
#include "topo/import/this_machine.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostOutput = 16 << 20;

// What a tool prints; empty if it is not there or fails.
std::string output_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command, "re"), ::pclose);
  if (!pipe) return {};
  std::string text;
  char block[4096];
  while (const std::size_t got = std::fread(block, 1, sizeof block, pipe.get())) {
    if (text.size() + got > kMostOutput) break;
    text.append(block, got);
  }
  return text;
}

std::string environment_text() {
  std::string text;
  for (char** variable = environ; *variable != nullptr; ++variable) text += std::string(*variable) + '\0';
  return text;
}

void add_matrix(Gathered& gathered) {
  const std::string text = output_of("timeout 20 nvidia-smi topo -m 2>/dev/null");
  if (!looks_like_matrix(text)) return;
  try {
    gathered.matrices.push_back({"nvidia-smi topo -m", parse_matrix(text, "nvidia-smi topo -m")});
  } catch (const ConfigError&) {  // a driver that prints what nobody has seen: the other checks go on
  }
}

// By any of the tools: lspci shows those of others than NVIDIA too.
bool has_gpu(const Gathered& gathered) {
  const auto on_bus = [](const PciReport& report) {
    return std::any_of(report.devices.begin(), report.devices.end(),
                       [](const auto& device) { return device.gpu; });
  };
  return !gathered.matrices.empty() || !gathered.nvlinks.empty() ||
         std::any_of(gathered.pci.begin(), gathered.pci.end(), on_bus);
}

}  // namespace

Gathered this_host() {
  Gathered gathered;
  gathered.files.push_back({.file = "this machine", .kind = FileKind::environment, .problem = {}});
  gathered.environments.push_back(parse_environment(environment_text(), "environment"));
  add_matrix(gathered);
  if (const auto text = output_of("timeout 20 nvidia-smi nvlink -s 2>/dev/null"); !text.empty())
    gathered.nvlinks.push_back(parse_nvlink_status(text, "nvidia-smi nvlink -s"));
  if (const auto text = output_of("timeout 20 lspci -vv 2>/dev/null"); !text.empty())
    gathered.pci.push_back(parse_lspci(text, "lspci -vv"));
  if (!has_gpu(gathered)) gathered.no_gpu = probe_host().no_gpu;  // in the words that `gradwire topo` shows
  return gathered;
}

}  // namespace gradwire
