// The PCIe tree behind a matrix. Devices that say PIX of each other share a switch; PXB joins switches under
// one more; PHB joins what hangs on one host bridge; NODE joins bridges of one cpu; SYS keeps apart. NVLink
// hides the PCIe path of a pair: such GPUs are put at the same cpu if their affinity is the same and nothing
// says SYS.
#include <algorithm>
#include <map>
#include <numeric>

#include "topo/path.h"
#include "topo/placement.h"

namespace gradwire {
namespace {

class Groups {  // union-find; a group is named by its smallest member
 public:
  explicit Groups(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(std::size_t i, std::size_t j) {
    const std::size_t a = of(i), b = of(j);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

using Paths = std::vector<std::vector<PathClass>>;

// Of the two cells of a pair the nearer one: a report that contradicts itself has lost links, not won them.
Paths paths_of(const TopoMatrix& matrix) {
  const std::size_t size = matrix.names.size();
  Paths paths(size, std::vector<PathClass>(size));
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j)
      paths[i][j] = std::min(*find_path_class(matrix.cells[i][j]), *find_path_class(matrix.cells[j][i]));
  return paths;
}

Groups join_up_to(PathClass farthest, const Paths& paths) {
  Groups groups(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (paths[i][j] >= PathClass::pix && paths[i][j] <= farthest) groups.join(i, j);
  return groups;
}

bool kept_apart(const Paths& paths, const Groups& groups, std::size_t a, std::size_t b) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (groups.of(i) != groups.of(a)) continue;
    for (std::size_t j = 0; j < paths.size(); ++j)
      if (paths[i][j] == PathClass::sys && groups.of(j) == groups.of(b)) return true;
  }
  return false;
}

std::string affinity(const TopoMatrix& matrix, std::size_t gpu) {
  if (gpu < matrix.numa_affinity.size() && !matrix.numa_affinity[gpu].empty())
    return matrix.numa_affinity[gpu];
  return gpu < matrix.cpu_affinity.size() ? matrix.cpu_affinity[gpu] : "";
}

void join_by_affinity(const TopoMatrix& matrix, const Paths& paths, Groups& cpus) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.gpus); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (paths[i][j] == PathClass::nvl && affinity(matrix, i) == affinity(matrix, j) &&
          cpus.of(i) != cpus.of(j) && !kept_apart(paths, cpus, i, j))
        cpus.join(i, j);
}

// Gives groups the numbers 0, 1, 2 in order of appearance.
class Numbers {
 public:
  int of(std::size_t group) {
    return numbers_.try_emplace(group, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::size_t, int> numbers_;
};

std::size_t members(const Groups& groups, std::size_t size, std::size_t of) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) count += groups.of(i) == groups.of(of);
  return count;
}

// Where the matrix says nothing of PCIe. Affinities have told the sockets, or nothing has.
void take_usual_tree(const PcieLayout& layout, std::vector<Seat>& gpus) {
  const bool one_socket = std::ranges::all_of(gpus, [](const Seat& seat) { return seat.cpu == 0; });
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto group = [&](int each) { return each > 0 ? i / static_cast<std::size_t>(each) : i; };
    const auto first = [&](int each) -> const Seat& {
      return gpus[each > 0 ? i / static_cast<std::size_t>(each) * static_cast<std::size_t>(each) : i];
    };
    if (one_socket && layout.gpus_per_socket > 0)
      gpus[i].cpu = static_cast<int>(group(layout.gpus_per_socket));
    if (first(layout.gpus_per_bridge).cpu == gpus[i].cpu)
      gpus[i].bridge = first(layout.gpus_per_bridge).bridge;
    if (layout.gpus_per_switch > 0) gpus[i].leaf = static_cast<int>(group(layout.gpus_per_switch));
  }
}

}  // namespace

SeatPlan place_by_matrix(const ResolvedNode& node) {
  const TopoMatrix& matrix = *node.spec.matrix;
  const std::size_t size = matrix.names.size();
  const Paths paths = paths_of(matrix);
  const Groups leaves = join_up_to(PathClass::pix, paths), uppers = join_up_to(PathClass::pxb, paths),
               bridges = join_up_to(PathClass::phb, paths);
  Groups cpus = join_up_to(PathClass::node, paths);
  join_by_affinity(matrix, paths, cpus);
  Numbers leaf, upper, bridge, cpu;
  SeatPlan placement;
  for (std::size_t i = 0; i < size; ++i) {
    const bool below_upper = members(uppers, size, i) > members(leaves, size, i);
    Seat seat{.cpu = cpu.of(cpus.of(i)), .bridge = bridge.of(bridges.of(i))};
    if (below_upper) seat.upper = upper.of(uppers.of(i));
    if (below_upper || members(leaves, size, i) > 1) seat.leaf = leaf.of(leaves.of(i));
    const bool is_gpu = i < static_cast<std::size_t>(matrix.gpus);
    seat.width = is_gpu ? *node.spec.pcie_width : 16;
    (is_gpu ? placement.gpus : placement.nics).push_back(seat);
  }
  if (node.spec.pcie_assumed) take_usual_tree(*node.spec.pcie, placement.gpus);
  placement.cpus = std::max({1, placement.count(&Seat::cpu), node.spec.pcie ? node.spec.pcie->sockets : 1});
  return placement;
}

}  // namespace gradwire
