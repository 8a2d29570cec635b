#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "predict/nccl/predictor.h"
#include "predict/validation/collectives.h"

namespace gradwire {
namespace {

constexpr Bytes kFromOneMegabyte = 1000 * 1000;  // FORMAT: "rows of 1 MB and more"

// What would have to be added to the constants' spread for the range to hold this measurement.
double missing(const ValidationPoint& point) {
  const double whole = std::log(point.measured / point.predicted) / kEightOfTen;
  return std::sqrt(std::max(0.0, whole * whole - point.by_constants * point.by_constants));
}

// Classes that err alike: over NVLink, between nodes. What hosts do to their memory says nothing of peers, which pass it by.
enum class Kin : std::uint8_t { nvlink, networks, peers, hosts };
Kin kin_of(MachineClass machines) {
  switch (machines) {
    case MachineClass::nvlink_direct:
    case MachineClass::nvls:
    case MachineClass::nvswitch:
      return Kin::nvlink;
    case MachineClass::network:
    case MachineClass::staged_network:
      return Kin::networks;
    case MachineClass::pcie:
      return Kin::peers;
    default:
      return Kin::hosts;
  }
}

// How many machines a point stands for: every machine counts once, whatever number of rows it has, and all machines of
// kindred classes count as a few more together, since a class has few of its own.
std::vector<std::pair<double, double>> weighed(std::span<const ValidationPoint> points, MachineClass wanted) {
  constexpr double kKin = 5;
  std::map<std::string, double> own, kin;  // rows of each machine
  const auto rows_in = [&](const ValidationPoint& point) -> std::map<std::string, double>* {
    if (wanted == MachineClass::all || point.machines == wanted) return &own;
    return kin_of(point.machines) == kin_of(wanted) ? &kin : nullptr;
  };
  for (const auto& point : points)
    if (auto* rows = rows_in(point)) ++(*rows)[point.platform];
  std::vector<std::pair<double, double>> found;
  for (const auto& point : points)
    if (const auto* rows = rows_in(point))
      found.emplace_back(missing(point),
                         (rows == &own ? 1 : kKin / double(kin.size())) / rows->at(point.platform));
  return found.empty() && wanted != MachineClass::all ? weighed(points, MachineClass::all) : found;
}

// Eight of ten, when one more machine lies outside whatever the range: the next one is as likely to be worse than all
// that are known as it is to be any of them (conformal prediction, with machines as the groups).
double eight_of_ten(std::vector<std::pair<double, double>> weighed) {
  std::sort(weighed.begin(), weighed.end());
  double machines = 1, held = 0;
  for (const auto& [open, weight] : weighed) machines += weight;
  for (const auto& [open, weight] : weighed)
    if ((held += weight) >= 0.8 * machines - 1e-9) return open;
  return weighed.empty() ? 0 : weighed.back().first;
}

}  // namespace

UnexplainedByClass left_open(std::span<const ValidationPoint> points) {
  std::array<std::vector<ValidationPoint>, 2> sides;
  UnexplainedByClass open = {{MachineClass::all, {}}};
  for (const ValidationPoint& point : points) {
    if (point.quality != Quality::ok) continue;
    sides[point.bytes >= kFromOneMegabyte].push_back(point);
    open[point.machines];
  }
  for (auto& [machines, of] : open)
    of = {eight_of_ten(weighed(sides[0], machines)), eight_of_ten(weighed(sides[1], machines))};
  return open;
}

}  // namespace gradwire
