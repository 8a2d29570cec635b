// Networks between nodes: the built-in ones of presets/networks.yaml, and the fields of a measured record.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/topology.h"

namespace gradwire {

enum class NetworkKind { infiniband, roce, efa, ethernet, slingshot, omnipath };  // ethernet: TCP sockets

// Absent means not stated; build_machine() then takes what is usual for the GPU and notes that it did.
struct NetworkSpec {
  std::optional<NetworkKind> kind;
  std::optional<double> gbit_per_nic;  // nominal
  std::optional<int> nics_per_node;    // those in use
  std::optional<bool> gpudirect;       // the card reads GPU memory; otherwise data passes through host memory
  // It could, but cards are stated to meet all GPUs at a processor: NCCL does not go that far unless it is told to.
  bool cards_far = false;
  std::optional<Seconds> latency;  // one way, card to card
  std::optional<bool> rails;       // card i of every node on a switch of its own (leaves joined by spines)
  std::string name;                // "ndr"; may be empty
  bool operator==(const NetworkSpec&) const = default;
};

struct NetworkPreset {
  NetworkSpec spec;
  double gbit_achieved = 0;
  std::string title, source;
};

const std::vector<NetworkPreset>& all_networks();
NetworkSpec find_network(
    std::string_view text);  // "ndr", "10gbe", "8x-hdr", "4x-efa-100"; throws ConfigError

// What NCCL does with it by itself. Where nobody says whether cards can: `otherwise`.
bool goes_direct(const NetworkSpec&, bool otherwise);

// One card: its nominal rate, and what the nearest preset of that kind achieves of it. Kind and gbit_per_nic
// are needed.
Rate network_rate(const NetworkSpec&);

std::string_view to_string(NetworkKind);
std::optional<NetworkKind> find_network_kind(std::string_view);

}  // namespace gradwire
