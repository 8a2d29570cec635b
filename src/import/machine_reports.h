// What tools say of a machine's links: `nvidia-smi nvlink -s`, `-q` and `topo -p2p`, and `lspci -vv`. Pure functions; only what a
// check needs is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct NvlinkReport {
  std::string file;
  struct Gpu {
    int index = 0;
    std::string name;
    int active = 0, inactive = 0;
    int line = 0;  // of the first inactive one, else of the GPU
  };
  std::vector<Gpu> gpus;
  bool names_alone = false;  // no word of links: `nvidia-smi -L`, or cards that have none
};
bool looks_like_gpu_names(std::string_view text);  // nothing but "GPU 0: NVIDIA A40 (UUID: ...)"
bool looks_like_nvlink_status(std::string_view text);
NvlinkReport parse_nvlink_status(std::string_view text, const std::string& name);

struct PciReport {
  std::string file;
  struct Device {
    std::string slot, name;
    std::string product;                   // of a GPU, by nvidia-smi -q
    double speed_now = 0, speed_most = 0;  // GT/s; 0: not said
    int width_now = 0, width_most = 0;     // lanes
    int gen_now = 0, gen_most = 0;         // of PCIe, by nvidia-smi; it falls when a GPU idles
    int busy_percent = 0;                  // how much of the time it computed; 0: not said
    std::string slowed;                    // by its hardware or for heat, and how: "HW Slowdown"
    int slowed_line = 0;
    bool gpu = false, bridge = false;
    std::string
        fabric;  // of a GPU behind NVSwitch, what nvidia-smi -q says of its state: "Completed", "In Progress"
    std::string fabric_status;  // once it is completed: "Success", or why not
    int fabric_line = 0;
    bool redirects = false;              // ACSCtl: ReqRedir+ or CmpltRedir+ or UpstreamFwd+
    int first_bus = -1, last_bus = -1;   // of a bridge, those below it; -1: not said
    bool is_above(const Device&) const;  // false where it is not said
    int line = 0, acs_line = 0;
  };
  std::vector<Device> devices;
  bool by_driver = false;  // nvidia-smi's, not lspci's
  int nameless_redirects = 0,
      nameless_line = 0;  // of `lspci -vvv | grep ACSCtl`, which leaves out whose they are
};
bool looks_like_lspci(std::string_view text);
PciReport parse_lspci(std::string_view text, const std::string& name);

// `nvidia-smi --query-gpu=... --format=csv`: what it has of the same, with its heading, or with the command above it.
bool looks_like_smi_csv(std::string_view text);
PciReport parse_smi_csv(std::string_view text, const std::string& name);

// The same of `nvidia-smi -q`: lanes of each GPU, and whether NVSwitch knows it; of its Fabric alone too.
bool looks_like_smi_query(std::string_view text);
PciReport parse_smi_query(std::string_view text, const std::string& name);

// `nvidia-smi topo -p2p r`: which GPUs may reach each other's memory.
struct PeerReport {
  std::string file;
  struct Refusal {
    std::string from, to, status;  // "GPU0", "GPU1", "CNS"
    int line = 0;
  };
  int gpus = 0;
  std::string gpu;       // its make, where the report says it
  bool by_test = false;  // of p2pBandwidthLatencyTest, simpleP2P or deviceQuery: whether peers may, not why
  std::vector<Refusal> refusals;
  // Of the fastest pair, one way, with peer access and without; 0: not measured.
  double with_peers_gbps = 0, without_peers_gbps = 0;
  int rates_line = 0;
};
bool looks_like_peer_test(std::string_view text);  // of CUDA's samples
PeerReport parse_peer_test(std::string_view text, const std::string& name);
bool looks_like_peer_status(std::string_view text);
PeerReport parse_peer_status(std::string_view text, const std::string& name);

}  // namespace gradwire
