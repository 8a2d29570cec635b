// `gradwire bench COLLECTIVE --on MACHINE`: the table nccl-tests should print there, from the model.
#pragma once

#include <string>
#include <vector>

#include "base/collective.h"
#include "base/units.h"
#include "predict/backends/backends.h"
#include "predict/nccl/settings.h"

namespace gradwire {

struct PriceOptions {
  std::string on;
  Collective collective = Collective::all_reduce;
  int ranks = 0;  // 0: all of the machine
  std::vector<Bytes> sizes;
  std::vector<Backend> backends = {Backend::nccl};
  std::string costs;                  // a file of `gradwire bench --json` to take these from
  std::string html;                   // a file for the page; empty: none
  std::vector<std::string> measured;  // files of what was measured there
  NcclSettings nccl;
  bool json = false, plot = true;
};

int price_bench(const PriceOptions&);

}  // namespace gradwire
