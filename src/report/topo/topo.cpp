#include "report/topo/topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "predict/nccl/all_reduce.h"
#include "report/machine_notes.h"
#include "report/narrowest.h"
#include "report/nccl_notes.h"
#include "report/terminal.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostGpus = 24;  // in a table; more are counted

std::string rate_cell(const Path& path) {
  if (path.path_class == PathClass::self) return "X";
  if (path.path_class == PathClass::none) return "-";
  const double gb = path.bytes_per_s / 1e9;
  return fmt::format("{:.{}f}{}", gb, gb < 9.95 ? 1 : 0, path.through_host ? "h" : "");
}

bool has_host_path(const Cells& rates) {
  return std::any_of(rates.begin(), rates.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const std::string& cell) { return cell.ends_with('h'); });
  });
}

// What add_cells() shows of them: of too many for a table, the GPUs.
template <typename Cell>
Cells shown(const Endpoints& endpoints, const std::vector<std::vector<EndpointPair>>& pairs, Cell cell) {
  const std::size_t size = endpoints.gpus <= kMostGpus ? pairs.size() : endpoints.gpus;
  Cells cells(size);
  for (std::size_t row = 0; row < size; ++row)
    for (std::size_t column = 0; column < size; ++column) cells[row].push_back(cell(pairs[row][column]));
  return cells;
}

// Too many for a table: what occurs between GPUs, and how often.
void add_counted_pairs(Report& report, const Endpoints& endpoints, const Cells& cells) {
  std::map<std::string, int> pairs;
  for (std::size_t i = 0; i < endpoints.gpus; ++i)
    for (std::size_t j = 0; j < i; ++j) ++pairs[cells[i][j]];
  for (const auto& [cell, count] : pairs)
    report.add(Sentence{fmt::format("  {:6} between {} pairs of GPUs", cell, count)});
}

Grid part(const Endpoints& endpoints, const Cells& cells, std::size_t rows, std::size_t first,
          std::size_t last) {
  Grid grid;
  grid.rows.assign(endpoints.names.begin(), endpoints.names.begin() + static_cast<std::ptrdiff_t>(rows));
  grid.columns.assign(endpoints.names.begin() + static_cast<std::ptrdiff_t>(first),
                      endpoints.names.begin() + static_cast<std::ptrdiff_t>(last));
  for (std::size_t row = 0; row < rows; ++row)
    grid.cells.emplace_back(cells[row].begin() + static_cast<std::ptrdiff_t>(first),
                            cells[row].begin() + static_cast<std::ptrdiff_t>(last));
  return grid;
}

bool all_equal(const Grid& grid) {
  return std::all_of(grid.cells.begin(), grid.cells.end(), [&](const auto& row) {
    return std::all_of(row.begin(), row.end(),
                       [&](const std::string& cell) { return cell == grid.cells[0][0]; });
  });
}

// The whole square if it fits; else GPUs to GPUs, then GPUs to network cards.
void add_tables(Report& report, const Endpoints& endpoints, const Cells& cells) {
  const std::size_t all = endpoints.names.size(), gpus = endpoints.gpus;
  const Grid whole = part(endpoints, cells, all, 0, all);
  if (gpus == 0 || grid_width(whole) <= kTerminalWidth) return report.add(whole);
  report.add(part(endpoints, cells, gpus, 0, gpus));
  if (gpus == all) return;
  const Grid cards = part(endpoints, cells, gpus, gpus, all);
  if (all_equal(cards))
    report.add(Sentence{fmt::format("  {} between any GPU and any NIC", cards.cells[0][0])});
  else
    report.add(Gap{}, cards);
}

void add_cells(Report& report, const std::string& title, const Endpoints& endpoints, const Cells& cells) {
  report.add(Gap{}, Title{title});
  if (endpoints.gpus <= kMostGpus)
    add_tables(report, endpoints, cells);
  else
    add_counted_pairs(report, endpoints, cells);
}

std::string joined_by(const Machine& machine) {
  const Topology& topology = machine.topology;
  if (!topology.find_devices(DeviceKind::nvswitch, 0).empty()) return "NVSwitch";
  const auto& links = topology.links();
  const bool nvlink =
      std::any_of(links.begin(), links.end(), [](const Link& link) { return link.kind == LinkKind::nvlink; });
  const std::string pcie =
      fmt::format("PCIe {} x{}", machine.node.pcie_gen.value_or(0), machine.node.pcie_width.value_or(16));
  const std::string host = machine.p2p ? "" : ", no peer access over PCIe";
  return (nvlink ? "NVLink, " : "") + pcie + host;
}

std::string origin(const Machine& machine) {
  return machine.origin == MachineOrigin::name ? machine.source : "from " + machine.source;
}

void add_heading(Report& report, const Machine& machine) {
  const auto gpus = machine.topology.find_devices(DeviceKind::gpu, 0).size();
  const std::string what =
      gpus == 0 ? "no GPU" : fmt::format("{} x {}, {}", gpus, machine.gpu.name, joined_by(machine));
  report.add(Title{fmt::format("{}: {}{}", machine.name,
                               machine.nodes > 1 ? fmt::format("{} nodes of ", machine.nodes) : "", what)});
  if (machine.origin != MachineOrigin::preset || machine.node.name != machine.name)
    report.add(Sentence{origin(machine), "  ", "    "});
  for (const std::string& fact : machine.facts) report.add(Sentence{fact, "  ", "    "});
}

void add_network(Report& report, const Machine& machine) {
  if (!machine.network || machine.node.gpus == 0) return;
  const NetworkSpec& network = *machine.network;
  const Rate rate = network_rate(network);
  std::string text = fmt::format("  network   {} x {:g} Gbit/s {}{}, {:.3g} GB/s a card, {}",
                                 *network.nics_per_node, *network.gbit_per_nic, to_string(*network.kind),
                                 network.rails.value_or(false) ? ", rails" : "", rate.bytes_per_s / 1e9,
                                 format_seconds(rate.latency));
  if (!goes_direct(network, true)) text += ", through host memory";
  report.add(Sentence{text, "", std::string(12, ' ')});
}

void add_between_nodes(Report& report, const Machine& machine) {
  if (machine.nodes < 2) return;
  const auto size = static_cast<std::size_t>(machine.gpus_per_node());
  const Path path = find_path(machine, machine.gpus[0], machine.gpus[size]);
  const LinkId narrowest = *std::min_element(path.links.begin(), path.links.end(), [&](LinkId a, LinkId b) {
    return machine.topology.link(a).rate.bytes_per_s < machine.topology.link(b).rate.bytes_per_s;
  });
  report.add(Sentence{fmt::format("to the next node: {:.3g} GB/s from GPU0, narrowest {}",
                                  path.bytes_per_s / 1e9, link_name(machine.topology, narrowest)),
                      "  ", "    "});
}

constexpr std::pair<std::string_view, std::string_view> kLegend[] = {
    {"NV", "NV#: so many NVLinks"},  {"PIX", "PIX: one PCIe switch"},    {"PXB", "PXB: several"},
    {"PHB", "PHB: the host bridge"}, {"NODE", "NODE: two host bridges"}, {"SYS", "SYS: between processors"}};

void add_path_legend(Report& report, const Cells& cells) {
  std::vector<std::string> entries;
  for (const auto& [code, meaning] : kLegend) {
    const std::string_view wanted = code;
    const bool occurs = std::any_of(cells.begin(), cells.end(), [&](const auto& row) {
      return std::any_of(row.begin(), row.end(),
                         [&](const std::string& cell) { return cell.starts_with(wanted); });
    });
    if (occurs) entries.emplace_back(meaning);
  }
  if (!entries.empty()) report.add(Sentence{join(entries, ", "), "  ", "  "});
}

// What bench --on says of large buffers, where every hop of the ring is busy at once.
void add_all_reduce(Report& report, const Machine& machine, const NcclSettings& settings) {
  if (machine.gpus.size() < 2) return;
  constexpr Bytes kLarge = Bytes{1} << 28;
  const auto estimate = NcclModel(machine, default_calibration(), settings).all_reduce(kLarge);
  const double gbps = estimate.bus_gbps;
  report.data["all_reduce"] = {{"bytes", kLarge},
                               {"busbw_gbps", gbps},
                               {"busbw_gbps_low", gbps * estimate.time / estimate.high},
                               {"busbw_gbps_high", gbps * estimate.time / estimate.low},
                               {"path", path_name(estimate.way)},
                               {"narrowest_link", to_words(estimate.narrowest)}};
  report.add(Sentence{
      fmt::format("All at once, in an all-reduce of {}: {:.3g} GB/s ({:.3g} to {:.3g}) over {}, narrowest {}",
                  format_bytes(kLarge), gbps, gbps * estimate.time / estimate.high,
                  gbps * estimate.time / estimate.low, path_name(estimate.way), to_words(estimate.narrowest)),
      "  ", "    "});
}

}  // namespace

void add_notes(Report& report, const std::vector<std::string>& notes) {
  if (notes.empty()) return;
  report.add(Gap{}, Title{"Note"});
  for (const std::string& note : notes) report.add(Sentence{note, "  - ", "    "});
}

Report machine_report(const Machine& machine, const NcclSettings& settings) {
  const Endpoints endpoints = endpoints_of(machine);
  const auto pairs = pairs_of(machine, endpoints);
  const Cells paths = shown(endpoints, pairs, [](const EndpointPair& pair) { return pair.cell; });
  const Cells rates = shown(endpoints, pairs, [](const EndpointPair& pair) { return rate_cell(pair.path); });
  Report report;
  report.data = machine_json(machine, endpoints, pairs);
  add_heading(report, machine);
  if (endpoints.ids.size() > 1) {
    add_cells(report, "Paths, as nvidia-smi topo -m shows them", endpoints, paths);
    add_path_legend(report, paths);
  }
  report.add(Gap{}, Title{machine.nodes > 1 ? "The inside of each node" : "The node"},
             Drawing{draw_tree(machine) + draw_nvlinks(machine)});
  add_network(report, machine);
  if (endpoints.ids.size() > 1) {
    add_cells(report, "GB/s one way, nothing else on the links", endpoints, rates);
    if (has_host_path(rates))
      report.add(Sentence{"  h: through host memory, these GPUs have no peer access over PCIe"});
  }
  add_all_reduce(report, machine, settings);
  add_between_nodes(report, machine);
  auto notes = all_notes(machine);
  std::ranges::move(nccl_notes(machine, settings), std::back_inserter(notes));
  if (auto note = find_host_memory_note(machine, settings)) notes.push_back(*std::move(note));
  report.data["notes"] = notes;
  add_notes(report, notes);
  return report;
}

Endpoints endpoints_of(const Machine& machine) {
  Endpoints result;
  for (const DeviceKind kind : {DeviceKind::gpu, DeviceKind::nic})
    for (const DeviceId id : machine.topology.find_devices(kind, 0)) {
      result.ids.push_back(id);
      result.names.push_back(machine.topology.device(id).name);
      result.gpus += kind == DeviceKind::gpu;
    }
  return result;
}

std::vector<std::vector<EndpointPair>> pairs_of(const Machine& machine, const Endpoints& endpoints) {
  Routes routes(machine.topology);
  std::vector<std::vector<EndpointPair>> pairs;
  for (const DeviceId from : endpoints.ids) {
    pairs.emplace_back();
    for (const DeviceId to : endpoints.ids) {
      Path path = find_path(machine, routes, from, to);
      std::string cell = matrix_cell(machine, path);
      path.links = {};
      pairs.back().push_back({std::move(cell), std::move(path)});
    }
  }
  return pairs;
}

}  // namespace gradwire
