// What a collective takes on a machine, by backend and size: what a benchmark should find there. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/collective.h"
#include "base/units.h"
#include "predict/backends/backends.h"
#include "predict/nccl/all_reduce.h"
#include "predict/nccl/settings.h"

namespace gradwire {

// The output of `gradwire bench --json`, from which the costs of backends other than NCCL are taken.
struct MeasuredCosts {
  std::string file, text;  // empty: none was given, and those of one host stand for it
  bool given() const { return !file.empty(); }
};

struct PriceQuestion {
  Collective collective = Collective::all_reduce;
  std::vector<Bytes> sizes;
  std::vector<Backend> backends = {Backend::nccl};
  MeasuredCosts costs = {};
  NcclSettings nccl = {};
};

struct Price {
  Backend backend = Backend::nccl;
  Bytes bytes = 0;  // as bench has them: of a gather or scatter those of all ranks
  AllReduceEstimate estimate = {};
};

// By backend, then by size, as they were asked for. Throws ConfigError for a backend that has no model of the collective.
std::vector<Price> price_bench(const PriceQuestion&, const Machine&);

}  // namespace gradwire
