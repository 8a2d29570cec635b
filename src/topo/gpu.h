// GPUs people train on: what presets/gpus.yaml says of them, with sources there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace gradwire {

class YamlMap;

struct Gpu {
  std::string id;    // "a100-sxm-80": the id of measured records
  std::string name;  // "NVIDIA A100-SXM4-80GB"
  int sm = 0;        // compute capability x 10: 80
  double fp32_flops = 0, tf32_flops = 0, fp16_flops = 0, bf16_flops = 0;  // dense peaks; 0: not in hardware
  Bytes memory_bytes = 0;
  double memory_bytes_per_s = 0;
  int nvlink_gen = 0, nvlink_links = 0;    // what the card has, bridged or not; 0: none
  double nvlink_bytes_per_s_per_link = 0;  // nominal, one way
  double nccl_bytes_per_s_per_link = 0;    // what NCCL counts on, close to what is achieved
  bool nvswitch = false;                   // sold on boards with NVSwitch (A100 SXM and later)
  bool nvlink_mesh = false;                // sold on boards that join them by links (P100 and V100 SXM)
  int pcie_gen = 0, pcie_width = 16;
  bool pcie_p2p = false;       // peer access over PCIe; GeForce since the 20 series has none
  bool desktop = false;        // sold for desktops: two of them share a processor's 16 lanes
  double c2c_bytes_per_s = 0;  // to its Grace, one way, nominal
  int gpus_per_cpu = 2;        // that one Grace has
  double usual_gbit = 0, usual_cards_per_gpu = 0;  // of networks such GPUs commonly have; 0: not known
  std::vector<std::string> aliases, matches;       // other ids; what nvidia-smi calls it
  std::string source;
  bool operator==(const Gpu&) const = default;
};

const std::vector<Gpu>& all_gpus();  // in the order of presets/gpus.yaml

// By its id or another word for it, or by its whole name as nvidia-smi prints it ("NVIDIA GeForce RTX 3090"), in capitals or
// not. Throws ConfigError that names near ids: of a card that is not known, none is taken for it.
Gpu find_gpu(std::string_view called);
const Gpu* find_gpu_called(std::string_view);  // null: none is

// The one that a text names, such as the output of nvidia-smi -L.
std::optional<Gpu> find_gpu_by_name(std::string_view text);

std::vector<Gpu> read_gpus(const YamlMap& file);  // of the form of presets/gpus.yaml; throws ConfigError

}  // namespace gradwire
