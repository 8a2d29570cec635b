// A machine to train on: one or several equal nodes, as devices and links, with the GPUs in rank order. Made
// from the facts of a node, from a built-in preset, from files, or from the machine this runs on. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/gpu.h"
#include "topo/network.h"
#include "topo/node_spec.h"
#include "topo/path.h"
#include "topo/topology.h"

namespace gradwire {

// The files that a machine's name may mean: those on disk, or texts that were pasted into a page under a name.
class NamedFiles {
 public:
  virtual ~NamedFiles() = default;
  virtual bool has(std::string_view name) const = 0;
  virtual bool is_folder(std::string_view name) const = 0;
  virtual std::string read(std::string_view name) const = 0;  // throws ConfigError
};

const NamedFiles& files_on_disk();

// What was measured on a machine and moved the model of it (predict/nccl/own.h): in which files, and how far to either side eight
// of ten all-reduces of 64 MiB lay before and lie now: 0.35 is 35 %.
struct MeasuredThere {
  std::vector<std::string> files;
  double before = 0, now = 0;
  bool rates = false;  // something large enough to tell one was among it
  std::vector<std::string> remarks =
      {};  // where it was not measured on all of this machine, or on another; clauses
};

// Who says what a machine is: a preset, its name alone ("4x-rtx4090-pcie"), or anything else: a file, a log, this host.
enum class MachineOrigin : std::uint8_t { other, preset, name };

struct Machine {
  std::string name;    // as asked for: "4*dgx-h100@ndr"
  std::string source;  // "preset dgx-h100", "nvidia-smi topo -m in box.txt", "this machine"; for people
  MachineOrigin origin = MachineOrigin::other;
  NodeSpec node;  // with everything that was not stated filled in
  int nodes = 1;
  Gpu gpu;
  CpuMaker cpu = CpuMaker::unknown;
  bool p2p = false;  // GPUs reach each other over PCIe; else through host memory (NVLink aside)
  std::optional<NetworkSpec> network;  // between the nodes, filled in
  Topology topology;
  std::vector<DeviceId> gpus;      // in use, rank order: node by node
  std::vector<std::string> notes;  // what was assumed because nobody said it, and what a report has wrong
  std::optional<MeasuredThere> measured;
  std::vector<std::string> facts;  // of this machine: its processor, caches, memory; empty for others
  int gpus_per_node() const { return node.gpus; }
};

// The network is the argument, else the node's own; one is needed for more than one node.
// Throws ConfigError for what can't be built. One node costs some 10 us, 2048 nodes of 8 GPUs some 10 ms.
Machine build_machine(const NodeSpec&, int nodes = 1, const std::optional<NetworkSpec>& = {});

// What --on takes:
//   NAME                     a preset of presets/machines.yaml: dgx-a100, 2x-titan-rtx-pcie
//   Nx-GPU-LINK[-LAYOUT]     any GPU: 4x-rtx4090-pcie-pxb, 2x-a40-nvlink (see build/box_name.h)
//   FILE                     YAML as in presets/machines.yaml, NCCL topology XML, a saved `nvidia-smi topo -m`
//   FILE:GPU                 the same, saying which GPU it is: box.txt:rtx3090
//   N*MACHINE[@NETWORK]      several nodes: 4*dgx-h100@ndr, 2*2x-rtx3090-nvlink@10gbe, 8*box.yaml@8x-hdr
//   this                     the machine this runs on
Machine find_machine(std::string_view on);  // throws ConfigError
Machine find_machine(std::string_view on, const NamedFiles&);

struct MachinePreset {
  NodeSpec node;  // its name is the id
  int nodes = 1;
  std::string title, source;
};
const std::vector<MachinePreset>& all_machines();

// The same machine with only its first GPUs in use, in rank order: some of one node, or all of several nodes.
Machine with_gpus(Machine, int gpus);
std::string counted_gpus(int);  // "1 GPU", "8 GPUs"

// How data gets from one device to another on this machine: straight, or through host memory: for two GPUs of
// a node that have neither NVLink nor peer access, through the memory next to the receiver (that is where
// NCCL puts its buffers); between nodes without GPUDirect, through the memory next to each GPU.
struct Path {
  PathClass path_class = PathClass::none;
  bool through_host = false;
  std::vector<LinkId> links;
  double bytes_per_s = 0;  // of the narrowest link, alone on it
  Seconds latency = 0;
};
Path find_path(const Machine&, DeviceId from, DeviceId to);
Path find_path(const Machine&, Routes& of_its_topology, DeviceId from, DeviceId to);  // for many pairs
std::string matrix_cell(const Machine&, const Path&);  // "X", "NV12", "PHB", ...

// Up over PCIe into the memory next to the receiver, and down from there, whether needed or not. Nothing where no way leads
// there: trays of a rack that NVLink alone joins.
std::optional<std::vector<LinkId>> find_staged_route(const Topology&, DeviceId from, DeviceId to);

}  // namespace gradwire
