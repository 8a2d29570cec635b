#include "report/list/lists.h"

#include <fmt/format.h>

#include "report/topo/topo.h"
#include "topo/machine.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

// Memory is sold in powers of two.
double memory_gb(const Gpu& gpu) { return static_cast<double>(gpu.memory_bytes) / (1 << 30); }

std::string giga(double value) { return value == 0 ? "-" : fmt::format("{:.4g}", value / 1e9); }
std::string tera(double value) { return value == 0 ? "-" : fmt::format("{:.4g}", value / 1e12); }

std::string nvlink_of(const Gpu& gpu) {
  if (gpu.nvlink_links == 0) return "-";
  return fmt::format("{} x{} {:.4g}", gpu.nvlink_gen, gpu.nvlink_links,
                     gpu.nvlink_links * gpu.nvlink_bytes_per_s_per_link / 1e9);
}

std::string short_kind(NetworkKind kind) {
  if (kind == NetworkKind::infiniband) return "IB";
  return kind == NetworkKind::ethernet ? "GbE" : std::string(to_string(kind));
}

std::string network_of(const NodeSpec& node) {
  if (!node.network || !node.network->gbit_per_nic || !node.network->kind) return "-";
  return fmt::format("{}x{:g} {}", node.network->nics_per_node.value_or(1), *node.network->gbit_per_nic,
                     short_kind(*node.network->kind));
}

nlohmann::json gpus_data() {
  auto list = nlohmann::json::array();
  for (const Gpu& gpu : all_gpus())
    list.push_back({{"id", gpu.id},
                    {"name", gpu.name},
                    {"sm", gpu.sm},
                    {"fp32_tflops", gpu.fp32_flops / 1e12},
                    {"tf32_tflops", gpu.tf32_flops / 1e12},
                    {"fp16_tflops", gpu.fp16_flops / 1e12},
                    {"bf16_tflops", gpu.bf16_flops / 1e12},
                    {"memory_gb", memory_gb(gpu)},
                    {"memory_gb_per_s", gpu.memory_bytes_per_s / 1e9},
                    {"nvlink_gen", gpu.nvlink_gen},
                    {"nvlink_links", gpu.nvlink_links},
                    {"nvlink_gb_per_s_per_link", gpu.nvlink_bytes_per_s_per_link / 1e9},
                    {"pcie_gen", gpu.pcie_gen},
                    {"pcie_width", gpu.pcie_width},
                    {"pcie_p2p", gpu.pcie_p2p},
                    {"source", gpu.source}});
  return list;
}

nlohmann::json links_data() {
  auto list = nlohmann::json::array();
  for (const LinkPreset& link : all_links()) {
    nlohmann::json entry = rate_json(link.rate);
    entry.update(
        {{"id", link.id}, {"title", link.title}, {"kind", to_string(link.kind)}, {"source", link.source}});
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::json networks_data() {
  auto list = nlohmann::json::array();
  for (const NetworkPreset& network : all_networks()) {
    nlohmann::json entry = rate_json(network_rate(network.spec));
    entry.update({{"id", network.spec.name},
                  {"title", network.title},
                  {"kind", to_string(*network.spec.kind)},
                  {"gbit", *network.spec.gbit_per_nic},
                  {"rails", network.spec.rails.value_or(false)},
                  {"source", network.source}});
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::json machines_data() {
  auto list = nlohmann::json::array();
  for (const MachinePreset& machine : all_machines())
    list.push_back({{"id", machine.node.name},
                    {"title", machine.title},
                    {"gpu", machine.node.gpu},
                    {"gpus", machine.node.gpus},
                    {"intra", machine.node.intra ? to_string(*machine.node.intra) : ""},
                    {"source", machine.source}});
  return list;
}

}  // namespace

Report gpus_report() {
  Table rows{{{"GPU", "SM", "fp32", "tf32", "fp16", "GB", "GB/s", "NVLink GB/s", "PCIe", "P2P"}}};
  for (const Gpu& gpu : all_gpus())
    rows.rows.push_back({gpu.id, fmt::format("{}", gpu.sm), tera(gpu.fp32_flops), tera(gpu.tf32_flops),
                         tera(gpu.fp16_flops), fmt::format("{:.4g}", memory_gb(gpu)),
                         giga(gpu.memory_bytes_per_s), nvlink_of(gpu),
                         fmt::format("{} x{}", gpu.pcie_gen, gpu.pcie_width), gpu.pcie_p2p ? "yes" : "no"});
  rows.left = 1;
  return listing(
      "gpus", gpus_data(), {rows},
      "TFLOP/s dense. NVLink: generation, links, GB/s one way. P2P: peer access over PCIe. Sources: "
      "presets/gpus.yaml");
}

Report links_report() {
  Table rows{{{"link", "what it is", "GB/s", "nominal", "NCCL"}}};
  for (const LinkPreset& link : all_links())
    rows.rows.push_back({link.id, link.title, giga(link.rate.bytes_per_s),
                         giga(link.rate.nominal_bytes_per_s), giga(link.rate.nccl_bytes_per_s)});
  Table cpus{{{"processor", "what it is", "PCIe", "memory", "socket", "NCCL"}}};
  for (const Processor& cpu : all_processors())
    cpus.rows.push_back({cpu.id, cpu.title, fmt::format("{}", cpu.pcie_gen), giga(cpu.memory.bytes_per_s),
                         giga(cpu.socket.bytes_per_s), giga(cpu.socket.nccl_bytes_per_s)});
  rows.left = cpus.left = 2;
  return listing(
      "links", links_data(), {rows, cpus},
      "GB/s achieved, one way, per NVLink, per 16 lanes, per memory direction, between two sockets. "
      "NCCL: what its "
      "graph search believes. Sources: presets/links.yaml, presets/cpus.yaml");
}

Report networks_report() {
  Table rows{{{"network", "what it is", "kind", "Gbit/s", "GB/s", "us"}}};
  for (const NetworkPreset& network : all_networks()) {
    const Rate rate = network_rate(network.spec);
    rows.rows.push_back({network.spec.name, network.title, std::string(to_string(*network.spec.kind)),
                         fmt::format("{:g}", *network.spec.gbit_per_nic), giga(rate.bytes_per_s),
                         fmt::format("{:.3g}", rate.latency * 1e6)});
  }
  rows.left = 3;
  return listing("networks", networks_data(), {rows},
                 "Of one card; GB/s is what is achieved. 4*dgx-h100@ndr joins four nodes, @8x-hdr has eight "
                 "cards a node; "
                 "any rate works: 75gbe, roce-300. Sources: presets/networks.yaml");
}

Report machines_report() {
  Table rows{{{"machine", "what it is", "network"}}};
  for (const MachinePreset& machine : all_machines())
    rows.rows.push_back({machine.node.name, machine.title, network_of(machine.node)});
  rows.left = 3;
  return listing("machines", machines_data(), {rows},
                 "Any other: 4x-rtx4090-pcie-pxb, 2x-a40-nvlink; several nodes: 4*dgx-h100@ndr; or a file. "
                 "gradwire topo "
                 "--on MACHINE shows one. Sources: presets/machines.yaml");
}

}  // namespace gradwire
