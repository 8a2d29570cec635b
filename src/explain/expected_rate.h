// The bus bandwidth that a machine should give a collective, by the model of NCCL: the one place where this
// layer asks the predictor.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"
#include "topo/machine.h"

namespace gradwire {

struct ExpectedRate {
  double busbw_gbps = 0;
  double relative_error = 0;  // of the model, for such machines and sizes
  Seconds time = 0;
};

// Nothing where the model has no such collective, or the machine has no such GPUs.
std::optional<ExpectedRate> find_expected_rate(const Machine&, std::string_view collective, Bytes, int ranks);

}  // namespace gradwire
