// Finds the constants of the NCCL model from measured sweeps: the most probable ones, given what is known of
// each before (their priors) and all sweeps at once. The logarithm of a time is close to linear in the
// logarithms of constants, so this is least squares repeated around the last answer (Gauss-Newton); rows that
// disagree with everything else count less each time round (Huber's weights). Deterministic.
#pragma once

#include <span>
#include <vector>

#include "predict/calibration/constants.h"
#include "predict/nccl/fabric.h"
#include "predict/nccl/price.h"

namespace gradwire {

struct FitRow {
  NcclChoice choice;  // what NCCL takes at this size
  Bytes bytes = 0;
  Seconds measured = 0;
};

struct FitSweep {
  const NcclFabric* fabric = nullptr;  // borrowed
  std::vector<FitRow> rows;
  double weight = 1;  // of each row: 1 is an independent measurement
};

// What is known before: by default the priors of presets/nccl.yaml.
struct FitStart {
  NcclConstants values{}, spreads{};
};
FitStart nccl_prior_start();

// Values and spreads; `unexplained` is left empty.
Calibration fit(std::span<const FitSweep>, const FitStart& = nccl_prior_start());

// The constants of one machine: those of all, moved by what was measured there, each within 60 %. What that leaves open is
// in `own`: what rows scatter by, over as many of them as the constants left free, and how far the constants may still be
// off together.
Calibration fit_own(const Calibration& of_all, std::span<const FitSweep>);

}  // namespace gradwire
