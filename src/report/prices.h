// What a benchmark should find on a machine, as a Report: the table nccl-tests would print there, from the model.
#pragma once

#include <vector>

#include "predict/backends/prices.h"
#include "report/report.h"
#include "topo/machine.h"

namespace gradwire {

// Prices of at least one size, as price_bench() gives them.
Report prices_report(const PriceQuestion&, const Machine&, const std::vector<Price>&, bool curves = true);

}  // namespace gradwire
