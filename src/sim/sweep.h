// What `gradwire bench --json` measured, as the model is fitted to it. Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "sim/curve.h"

namespace gradwire {

struct Sweep {
  std::string backend;
  Collective collective = Collective::all_reduce;
  int ranks = 2;
  std::vector<Sample> samples;  // medians, in the order they stand in the file
  std::vector<Sample>
      processor;  // what of a rank's processor each took; the whole time where the file does not say
};

// One for each backend, collective and number of ranks. Throws ConfigError saying which row has what wrong.
std::vector<Sweep> read_sweeps(std::string_view json);

// Throws ConfigError listing what there is.
const Sweep& sweep_of(const std::vector<Sweep>& sweeps, std::string_view backend, Collective collective,
                      int ranks);

}  // namespace gradwire
