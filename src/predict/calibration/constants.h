// The constants of the NCCL model: latencies, shares of nominal rates, shapes. Each is physical, has a prior
// (a value and how far it may be off, with the source) and a value that measured sweeps gave within it. All
// stand in presets/nccl.yaml. A value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"

namespace gradwire {

// In the order of presets/nccl.yaml, which explains each.
enum class NcclConstant : std::uint8_t {
  base_ll,
  base_simple,
  nvlink_hop_ll,
  nvlink_hop_ll128,
  nvlink_hop_simple,
  pcie_hop_ll,
  pcie_hop_simple,
  host_hop_ll,
  host_hop_simple,
  nvls_latency,
  pace_sm70,
  pace_sm80,
  pace_sm90,
  pace_sm100,
  ll_share,
  ll128_share,
  nvlink2_share,
  nvlink3_share,
  nvlink4_share,
  nvlink5_share,
  nvls_sm90,
  nvls_sm100,
  ramp_ll,
  ramp_simple,
  ramp_nvls,
  ramp_pcie,
  ramp_network,
  hiding_slice,
  lane_share,
  peer_slot_share,
  host_slot_share,
  uplink_share,
  memory_share,
  socket_share,
  thread_block_gbps,
  infiniband_hop,
  efa_hop,
  tcp_hop,
  network_share,
  processor_copy_gbps,
};
inline constexpr std::size_t kNcclConstants = 40;

using NcclConstants = std::array<double, kNcclConstants>;
inline double get(const NcclConstants& constants, NcclConstant one) {
  return constants[static_cast<std::size_t>(one)];
}

// What is known of a constant before any sweep; spread is the standard deviation of its logarithm.
struct NcclPrior {
  std::string name, unit, source;
  double value = 1, spread = 0.1;
};
const std::array<NcclPrior, kNcclConstants>& nccl_priors();

// Classes of machines that errors are counted by. `all`: those together, and one without a figure of its own.
enum class MachineClass : std::uint8_t {
  all,
  host_memory,
  network,
  nvlink_direct,
  nvls,
  nvswitch,
  pcie,
  staged_network
};
template <>
inline constexpr std::array<std::string_view, 8> kNamesOf<MachineClass> = {
    "all", "host memory", "network", "nvlink direct", "nvls", "nvswitch", "pcie", "staged network"};

// What sweeps leave open beside the constants: the standard deviation of log(measured / predicted) by class of
// machine, from machines that no constant has seen (left_open() in validation/collectives.h).
struct Unexplained {
  double below_1mb = 0, from_1mb = 0;
};
using UnexplainedByClass = std::map<MachineClass, Unexplained>;

// What the constants of one machine leave open after its own rows (fit_own() in calibration/fit.h). Rows of one machine
// tell what its constants make together, not each, so these vary together.
struct OwnSpread {
  std::vector<double>
      together;        // covariance of the constants' logarithms, row by row; empty: no row of this machine
  double scatter = 0;  // of rows around them, standard deviation of a logarithm

  // Of a time whose logarithm answers so to each constant's: wide where no row was near.
  double of(const NcclConstants& slopes) const;
};

struct Calibration {
  NcclConstants values{}, spreads{};  // spreads: of logarithms, after the sweeps
  UnexplainedByClass unexplained;
  OwnSpread own = {};  // of a machine that was measured: it counts instead, as far as it is less

  Unexplained unexplained_of(MachineClass) const;
};

const Calibration& default_calibration();  // presets/nccl.yaml, compiled in
Calibration parse_calibration(std::string_view yaml, std::string_view where);  // throws ConfigError
std::string calibration_yaml(const Calibration&);  // with priors and sources of presets/nccl.yaml

}  // namespace gradwire
