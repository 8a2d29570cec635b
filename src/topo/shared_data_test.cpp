// Reads the collected reports and records of others where they are: in the directory GRADWIRE_SHARED names,
// or in ../shared beside the checkout. Where they are not, the tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "topo/import/machine_file.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

fs::path shared(const char* what) {
  const char* directory = std::getenv("GRADWIRE_SHARED");
  const fs::path found =
      fs::path(directory != nullptr ? directory : GRADWIRE_SOURCE_DIR "/../shared") / "groundtruth" / what;
  if (fs::exists(found)) fmt::print("{}: read\n", what);
  return found;
}

bool is_another_report(const std::string& file) {
  return file.starts_with("030_") || file.starts_with("051_");  // topo -p2p, ROCm: so says their index
}

// What a matrix says of a pair comes out of the machine built from it, unless NVLink hides it.
int count_wrong_cells(const Machine& machine, const std::string& file) {
  const TopoMatrix& matrix = *machine.node.matrix;
  std::vector<DeviceId> devices = machine.topology.find_devices(DeviceKind::gpu, 0);
  const std::vector<DeviceId> nics = machine.topology.find_devices(DeviceKind::nic, 0);
  devices.insert(devices.end(), nics.begin(), nics.end());
  int wrong = 0;
  for (std::size_t i = 0; i < matrix.names.size(); ++i)
    for (std::size_t j = 0; j < matrix.names.size(); ++j) {
      const std::string cell = matrix_cell(machine.topology, devices[i], devices[j]);
      if (cell == matrix.cells[i][j]) continue;
      if (wrong++ == 0)
        fmt::print("{}: {}-{} is {}, built as {}\n", file, matrix.names[i], matrix.names[j],
                   matrix.cells[i][j], cell);
    }
  return wrong;
}

TEST(SharedData, every_collected_matrix_becomes_a_machine_that_shows_the_same_matrix) {
  const fs::path directory = shared("topo_matrices");
  if (!fs::exists(directory)) GTEST_SKIP() << directory << " is not there";
  int files = 0, cells = 0, wrong = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".txt" || is_another_report(name)) continue;
    const Machine machine = find_machine(entry.path().string());
    const auto size = machine.node.matrix->names.size();
    ++files;
    cells += static_cast<int>(size * size);
    wrong += count_wrong_cells(machine, name);
  }
  fmt::print("{} matrices, {} cells, {} built otherwise\n", files, cells, wrong);
  EXPECT_GT(files, 90);
  EXPECT_LE(wrong, cells / 100);
}

TEST(SharedData, reports_that_are_not_that_matrix_are_refused_by_name) {
  const fs::path directory = shared("topo_matrices");
  if (!fs::exists(directory)) GTEST_SKIP() << directory << " is not there";
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!is_another_report(entry.path().filename().string())) continue;
    EXPECT_THROW(find_machine(entry.path().string()), ConfigError) << entry.path();
  }
}

std::optional<int> integer(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional<int>(value.get<int>());
}

std::optional<bool> flag(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional<bool>(value.get<bool>());
}

std::optional<NetworkSpec> network_of(const nlohmann::json& network) {
  if (network.is_null()) return std::nullopt;
  NetworkSpec spec;
  if (!network["kind"].is_null()) spec.kind = find_network_kind(network["kind"].get<std::string>());
  if (!network["gbit_per_nic"].is_null()) spec.gbit_per_nic = network["gbit_per_nic"].get<double>();
  spec.nics_per_node = integer(network["nics_per_node"]);
  spec.gpudirect = flag(network["gpudirect"]);
  return spec;
}

NodeSpec node_of(const nlohmann::json& record, int gpus) {
  const auto& machine = record["machine"];
  NodeSpec node;
  node.name = record["id"];
  if (!record["gpu"].is_null()) node.gpu = record["gpu"];
  node.gpus = gpus;
  if (!machine["intra"].is_null()) node.intra = find_intra(machine["intra"].get<std::string>());
  node.nvlink_gen = integer(machine["nvlink_gen"]);
  node.nvlink_links_per_gpu = integer(machine["nvlink_links_per_gpu"]);
  node.nvlink_links_per_pair = integer(machine["nvlink_links_per_pair"]);
  node.p2p = flag(machine["p2p"]);
  node.pcie_gen = integer(machine["pcie_gen"]);
  node.pcie_width = integer(machine["pcie_width"]);
  if (!machine["cpu"].is_null()) node.cpu = find_cpu_maker(machine["cpu"].get<std::string>());
  if (!machine["topo_matrix"].is_null())
    node.matrix = parse_matrix(machine["topo_matrix"].get<std::vector<std::string>>(), node.name);
  if (!machine["gpu_indices"].is_null()) node.gpu_indices = machine["gpu_indices"].get<std::vector<int>>();
  node.network = network_of(machine["network"]);
  return node;
}

TEST(SharedData, the_machine_of_every_measured_record_can_be_built) {
  int built = 0;
  for (const char* file : {"collectives.jsonl", "training.jsonl"}) {
    const fs::path path = shared(file);
    if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      const int nodes = record.value("nodes", 1);
      const Machine machine = build_machine(node_of(record, record.value("gpus_per_node", 2)), nodes,
                                            nodes > 1 ? std::optional<NetworkSpec>() : std::nullopt);
      for (const DeviceId gpu : machine.gpus)
        ASSERT_TRUE(gpu == machine.gpus[0] || find_path(machine, machine.gpus[0], gpu).bytes_per_s > 0)
            << record["id"];
      ++built;
    }
  }
  fmt::print("{} machines of records were built\n", built);
  EXPECT_GT(built, 0);
}

}  // namespace
}  // namespace gradwire
