// One node described by its facts, field for field as the `machine` object of a measured record says it, plus
// the PCIe layout that records leave to a matrix. Absent means not stated; build_machine() takes what is
// usual for the GPU and notes each such assumption in Machine::notes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/gpu.h"
#include "topo/import/matrix.h"
#include "topo/network.h"

namespace gradwire {

enum class Intra { nvswitch, nvlink_mesh, nvlink_pairs, pcie };
enum class CpuMaker { amd, intel, power, grace, unknown };

// GPUs in index order, filled up: gpus_per_switch of them under each PCIe switch, and so on upward. 0 means
// "no such level" for switches, "all of them" for bridges and sockets.
struct PcieLayout {
  int gpus_per_switch = 0;     // these share one uplink (PIX); 0: each GPU has its own root port
  int switches_per_upper = 0;  // switches under an upper switch (PXB); 0: straight to the host bridge
  int gpus_per_bridge = 0;     // under one host bridge (PHB); fewer than per socket gives NODE
  int gpus_per_socket = 0;     // beyond, SYS
  int sockets_per_board = 0;   // sockets beyond have no link between them; 0: all are linked
  int sockets = 0;             // at least; 0: as many as the GPUs need
  int uplink_gen = 0, uplink_width = 0;  // of switches; 0: as the GPU's slot
  std::vector<int> slot_widths,
      slot_gens;  // of each GPU's slot where they differ, e.g. {16, 8, 8, 4}; 0: as usual
  std::vector<int> card_widths,
      card_gens;               // of network cards, likewise; usual is 16 lanes of the GPUs' generation
  bool nics_at_switch = true;  // network cards spread over the switches, else over the sockets
  bool operator==(const PcieLayout&) const = default;
};

// NVLinks bonded between two GPUs.
struct NvlinkBond {
  int gpu = 0, peer = 0, links = 0;
  bool operator==(const NvlinkBond&) const = default;
};

// What measurements on this very machine made of the constants of the NCCL model (predict/nccl/own.h). Empty:
// they are everybody's.
struct OwnConstants {
  std::vector<double> values, together;  // together: how their logarithms vary together, row by row
  double scatter = 0;                    // of what was measured around them
  bool operator==(const OwnConstants&) const = default;
};

struct NodeSpec {
  std::string name;
  std::string gpu;  // id as in presets/gpus.yaml; empty: unknown
  int gpus = 1;     // in use; the node may have more, then gpu_indices or the first ones
  std::optional<Intra> intra;
  std::optional<int> nvlink_gen, nvlink_links_per_gpu, nvlink_links_per_pair;
  std::vector<NvlinkBond> nvlinks;  // of a mesh whose pairs differ
  std::optional<bool> p2p;          // over PCIe
  std::optional<int> pcie_gen, pcie_width;
  std::optional<CpuMaker> cpu;
  std::string cpu_model;  // id as in presets/cpus.yaml; empty: usual for maker and PCIe generation
  std::optional<PcieLayout> pcie;
  bool pcie_assumed = false;   // the layout is the usual one: nobody stated it
  bool gpu_guessed = false;    // by its links: the file does not name it
  bool lanes_assumed = false;  // two cards are taken to share a desktop's lanes, x8 each
  std::optional<TopoMatrix>
      matrix;  // wins over the layout and over intra, except that pcie leaves its NVLinks out
  std::vector<int> gpu_indices;  // as in the matrix, in rank order
  std::optional<NetworkSpec> network;
  std::optional<int> nccl;       // the version that runs there: 2.26 as 226
  std::optional<Gpu> gpu_facts;  // of a GPU that presets/gpus.yaml does not have
  OwnConstants own;
  bool operator==(const NodeSpec&) const = default;
};

std::string_view to_string(Intra);  // as in records: "nvlink-pairs"
std::string_view to_string(CpuMaker);
std::optional<Intra> find_intra(std::string_view);
std::optional<CpuMaker> find_cpu_maker(std::string_view);

// Of NCCL: "2.23.4" gives 223, "2.9" 209; absent for text that is no version.
std::optional<int> find_nccl_version(std::string_view text);

}  // namespace gradwire
