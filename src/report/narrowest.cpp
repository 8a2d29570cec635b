#include "report/narrowest.h"

#include <fmt/format.h>

#include <array>

namespace gradwire {
namespace {

std::string resource_words(const Resource& resource, const std::string& place) {
  switch (resource.kind) {
    case ResourceKind::nvlink:
      return "NVLinks of " + place;
    case ResourceKind::nvlink_cable:
    case ResourceKind::lane:
    case ResourceKind::root_lane:
      return place;
    case ResourceKind::peer_slot:
    case ResourceKind::host_slot:
      return fmt::format("PCIe slot of {}, both ways", place);
    case ResourceKind::uplink:
      return fmt::format("uplink {}, both ways", place);
    case ResourceKind::memory:
      return "memory " + place;
    case ResourceKind::socket:
      return "socket link " + place;
    case ResourceKind::socket_flow:
      return "TCP through the loopback device";
    case ResourceKind::thread_blocks:
      return fmt::format("{:g} thread blocks of a GPU", resource.nominal_gbps);
  }
  return "";
}

std::string network_words(const Narrowest& narrowest) {
  const NodeCards& cards = narrowest.cards;
  return fmt::format("{}{} x {:g} Gbit/s {}", narrowest.one_card ? "a card of " : "", cards.count, cards.gbit,
                     to_string(cards.kind));
}

}  // namespace

std::string to_words(const Narrowest& narrowest) {
  switch (narrowest.by) {
    case Holdup::unknown:
      return "";
    case Holdup::nothing:
      return "none";
    case Holdup::resource: {
      const auto name = resource_words(narrowest.resource, narrowest.place);
      if (narrowest.crossed == 1) return name;
      return fmt::format("{}: crossed {:g} times by every byte", name, narrowest.crossed);
    }
    case Holdup::cards:
      return fmt::format("network: {}, {:.3g} GB/s", network_words(narrowest), narrowest.gbps);
    case Holdup::copies:
      return fmt::format(
          "{}, {:.3g} GB/s, to the network: {}",
          narrowest.detour == Detour::sockets ? "GPUDirect across sockets" : "copies through host memory",
          narrowest.gbps, network_words(narrowest));
    case Holdup::slots:
      return "PCIe slots on the way to the network: " + network_words(narrowest);
    case Holdup::host_card:
      return "network card";
    case Holdup::software:
      return to_string(narrowest.backend) + "'s own rate";
    case Holdup::measured:
      return "as measured";
  }
  return "";
}

std::string_view to_words(ResourceClass of) {
  constexpr std::array<std::string_view, 8> kWords = {"a GPU's NVLinks",
                                                      "a PCIe link, one way",
                                                      "a GPU's PCIe slot, both ways",
                                                      "a switch's uplink, both ways",
                                                      "the memory of a socket",
                                                      "the link between sockets",
                                                      "a TCP flow",
                                                      "a GPU's thread blocks"};
  return kWords.at(static_cast<std::size_t>(of));
}

}  // namespace gradwire
