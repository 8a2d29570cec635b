// A comparison as people read it in 80 columns, and as programs do.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "predict/compare/compare.h"
#include "predict/compare/sweep.h"

namespace gradwire {

std::string comparison_text(const Comparison&);
nlohmann::json comparison_json(const Comparison&);

std::string sweep_text(const std::vector<SweepCurve>&, const SweepSpec&, const Workload&);
nlohmann::json sweep_json(const std::vector<SweepCurve>&, const SweepSpec&);

std::string plural(const std::string& word);  // "images", "batches"

}  // namespace gradwire
