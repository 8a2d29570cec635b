#pragma once

// What tests of comparisons share: a question asked by names.

#include <algorithm>
#include <string>
#include <vector>

#include "predict/compare/compare.h"
#include "predict/workload/catalog.h"

namespace gradwire {

inline Comparison ask(const std::string& model, int batch, std::vector<std::string> on,
                      Precision precision = Precision::fp32) {
  std::vector<Machine> machines;
  for (const auto& name : on) {
    machines.push_back(find_machine(name));
    machines.back().name = name;
  }
  StepOptions options;
  options.batch = batch;
  options.precision = precision;
  options.overlap = true;
  return compare(build_model(model), machines, options);
}

// Eight cards in one box, with a bridge for each pair or without any.
inline Machine box_of_eight(Intra intra) {
  NodeSpec node;
  node.name = intra == Intra::pcie ? "box8p" : "box8";
  node.gpu = "rtx2080ti", node.gpus = 8, node.cpu = CpuMaker::intel, node.intra = intra;
  return build_machine(node);
}

inline const Remedy* find_remedy(const Comparison& result, Change change) {
  const auto found = std::ranges::find(result.remedies, change, &Remedy::change);
  return found == result.remedies.end() ? nullptr : &*found;
}

}  // namespace gradwire
