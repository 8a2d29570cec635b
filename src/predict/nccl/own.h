// A machine that was measured: what all-reduces and copies took there moves the constants of the NCCL model for that
// machine alone, and narrows what may be expected of it. Every model made of the machine then follows, and so do
// machines made by rearranging it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/calibration/constants.h"
#include "predict/nccl/settings.h"
#include "topo/machine.h"

namespace gradwire {

// All-reduces by so many of the machine's GPUs, the first ones. Where the nodes are not told: those of one node, whole
// nodes, or as many of every node, the first that fits.
struct OwnSweep {
  int ranks = 2;
  std::vector<std::pair<Bytes, Seconds>> rows;
  int nodes = 0;         // 0: not told
  std::string gpu = {};  // as whoever measured names it; empty: not told
};

// Copies between two GPUs of a node with both directions busy: GB/s of both together. `staged`: with peer access off.
struct OwnCopies {
  int gpu = 0, peer = 1;
  double gbps = 0;
  bool staged = false;
};

struct OwnMeasurements {
  std::vector<OwnSweep> sweeps;
  std::vector<OwnCopies> copies;
  std::vector<std::string> files = {};  // where they stand
};

// NCCL's all-reduces in what `gradwire bench --json` wrote. Throws ConfigError naming `file`, also where there is none.
std::vector<OwnSweep> own_sweeps(std::string_view bench, const std::string& file);

// Moves the machine, and notes in it what that narrowed, and whether it is of part of it or of another GPU. Throws ConfigError for more GPUs than the machine has, or for a
// number that its nodes do not divide, or for what no such links can have taken.
void take_measured(Machine&, const OwnMeasurements&, const NcclSettings&);

Calibration own_calibration(const Machine&, const Calibration& of_all);

}  // namespace gradwire
