// What a machine is made of: devices (GPUs, processors, memory, switches, network cards) and the links
// between them. A link is a one-way pipe with a rate of its own; a full-duplex cable is two links. What
// several devices share, such as the one uplink of a PCIe switch, is one link that all their routes cross:
// that is how contention appears.
//
// A value: built once with add_device() and add_cable(), then only read; const functions may run on any
// thread. The devices of a node are added one after the other, nodes in order. Network switches belong to no
// node (kNoNode).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace gradwire {

using DeviceId = std::int32_t;  // index into Topology::devices()
using LinkId = std::int32_t;    // index into Topology::links()

constexpr DeviceId kNoDevice = -1;
constexpr int kNoNode = -1;

// cpu is a NUMA node of a socket; host_bridge is where PCIe ends at it (its root ports share it); memory is
// the DRAM behind one cpu.
enum class DeviceKind : std::uint8_t {
  gpu,
  cpu,
  host_bridge,
  memory,
  pcie_switch,
  nvswitch,
  nic,
  net_switch
};

struct Device {
  std::string name;  // within its node, as nvidia-smi and NCCL say it: "GPU0", "NIC1", "CPU0"
  DeviceKind kind = DeviceKind::gpu;
  int node = 0;
  std::string model;  // "a100-sxm-80", "xeon-skylake", "mlx5_0"; may be empty
  bool operator==(const Device&) const = default;
};

// internal: inside a processor, between host bridge and cores. c2c: NVLink-C2C between Grace and its GPU.
enum class LinkKind : std::uint8_t { nvlink, c2c, pcie, internal, socket, memory, network };

// Three rates, because three are asked for; presets/links.yaml holds them with their sources.
struct Rate {
  double bytes_per_s = 0;          // what software achieves: the one to compute with
  double nominal_bytes_per_s = 0;  // what the data sheet says
  double nccl_bytes_per_s = 0;     // what NCCL's graph search believes
  Seconds latency = 0;             // of the first byte
  bool operator==(const Rate&) const = default;
};

struct Link {
  LinkKind kind = LinkKind::pcie;
  DeviceId from = kNoDevice, to = kNoDevice;
  int generation = 0;  // of NVLink or PCIe; 0 if it has none
  int width = 1;       // PCIe lanes, or NVLinks bonded
  Rate rate;
  bool operator==(const Link&) const = default;
};

class Topology {
 public:
  DeviceId add_device(Device);
  LinkId add_link(Link);
  void add_cable(const Link&);                           // the link and its twin in the other direction
  void reserve(std::size_t devices, std::size_t links);  // optional

  std::span<const Device> devices() const { return devices_; }
  std::span<const Link> links() const { return links_; }
  const Device& device(DeviceId) const;
  const Link& link(LinkId) const;
  std::span<const LinkId> links_from(DeviceId) const;

  int nodes() const { return static_cast<int>(node_devices_.size()); }
  std::vector<DeviceId> find_devices(DeviceKind, int node) const;  // in the order they were added

  // The links data takes from one device to another, in order: NVLink before PCIe before a socket link, then
  // fewest hops. Between nodes it leaves by the network card nearest to `from` and enters by the one nearest
  // to `to` (on the same rail if there is one). Data never passes through a third GPU, memory or network
  // card. Empty if from == to. Costs about a microsecond inside a node, however many nodes there are. Throws
  // ConfigError if there is no way.
  std::vector<LinkId> route(DeviceId from, DeviceId to) const;
  std::optional<std::vector<LinkId>> find_route(DeviceId from,
                                                DeviceId to) const;  // nothing: there is no way
  bool reaches(DeviceId from, DeviceId to) const;

  // The devices of a kind nearest to a device in its node, all equally near, in device order; empty if none
  // is reached. Of network cards, those without a cable count only where no card has one.
  std::vector<DeviceId> nearest(DeviceId, DeviceKind) const;

  bool operator==(const Topology&) const = default;

 private:
  // Distances from one device to the devices of its node, and the link each is reached by.
  struct Search {
    DeviceId first = 0;  // of the node; the vectors start there
    std::vector<int> cost;
    std::vector<LinkId> via;
    int cost_of(DeviceId id) const { return cost[static_cast<std::size_t>(id - first)]; }
  };
  friend class Routes;
  std::span<const LinkId> socket_links(DeviceId) const;  // of links_from(): the last ones
  std::span<const LinkId> other_links(DeviceId) const;   // the first ones
  Search search(DeviceId from, DeviceId target) const;
  std::vector<LinkId> walk_back(const Search&, DeviceId to) const;
  std::vector<DeviceId> nearest(DeviceId, DeviceKind, const Search&) const;
  std::optional<std::vector<LinkId>> find_route_between_nodes(DeviceId from, DeviceId to) const;
  std::optional<std::vector<LinkId>> find_network_route(DeviceId from, DeviceId to) const;
  DeviceId leaving_nic(DeviceId from, const Search&) const;
  DeviceId entering_nic(DeviceId to, const Search&, DeviceId left_by) const;
  bool share_a_switch(DeviceId nic, DeviceId other) const;

  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::vector<LinkId> twins_;                 // by link: the other direction of a cable, or -1
  std::vector<std::vector<LinkId>> out_;      // by device, those to other sockets last
  std::vector<std::vector<LinkId>> uplinks_;  // by device: those of out_ that lead to a network switch
  std::vector<std::pair<DeviceId, DeviceId>> node_devices_;  // [first, last) of each node
};

// The same answers with every search inside a node made once, for whoever asks about all its pairs. One thread; the
// topology outlives it.
class Routes {
 public:
  explicit Routes(const Topology& topology) : topology_(topology) {}
  std::optional<std::vector<LinkId>> find_route(DeviceId from, DeviceId to);
  const std::vector<DeviceId>& nearest(DeviceId, DeviceKind);

 private:
  const Topology::Search& search(DeviceId from);

  const Topology& topology_;
  std::map<DeviceId, Topology::Search> searches_;
  std::map<std::pair<DeviceId, DeviceKind>, std::vector<DeviceId>> nearest_;
};

std::string_view to_string(DeviceKind);
std::string_view to_string(LinkKind);
std::string device_name(const Topology&, DeviceId);  // "GPU0", or "node 3 GPU0" when there are several nodes
std::string link_name(const Topology&, LinkId);      // "GPU0 > GPU1 (NVLink 3 x4)"
double bottleneck(const Topology&,
                  std::span<const LinkId> route);                 // lowest bytes_per_s; 0 for an empty route
Seconds latency(const Topology&, std::span<const LinkId> route);  // sum

}  // namespace gradwire
