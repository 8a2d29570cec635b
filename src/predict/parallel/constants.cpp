#include "predict/parallel/constants.h"

#include <fmt/format.h>

#include "base/error.h"
#include "predict/presets.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr std::string_view kConstantNames[kParallelConstants] = {
    "matmul",   "balance", "fp8",   "attention", "kernel", "elements", "fusion", "output", "tensor",
    "slowdown", "hiding",  "stage", "micro",     "spread", "update",   "host",   "frozen", "desktop"};

}  // namespace

std::string_view name_of(ParallelConstant constant) { return kConstantNames[static_cast<int>(constant)]; }

ParallelValues ParallelModel::prior_values() const {
  ParallelValues all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = priors[i].prior;
  return all;
}

ParallelModel parse_parallel_model(std::string_view yaml, std::string_view where) {
  const auto root = parse_yaml(yaml, where);
  root.only({"constants", "error_given", "error_alone"});
  ParallelModel model;
  model.priors.resize(kParallelConstants);
  model.error_given = root.number("error_given", {0, 10});
  model.error_alone = root.number("error_alone", {0, 10});
  for (const auto& entry : root.maps("constants")) {
    entry.only({"name", "value", "prior", "spread", "source"});
    const auto name = entry.text("name");
    int index = 0;
    while (index < kParallelConstants && kConstantNames[index] != name) ++index;
    if (index == kParallelConstants)
      entry.fail("name", "the name of a constant of src/predict/parallel/constants.h");
    const auto place = static_cast<std::size_t>(index);
    model.priors[place] = {name, entry.number("value", {1e-6, 1e6}), entry.number("prior", {1e-6, 1e6}),
                           entry.number("spread", {1e-3, 10}), entry.text("source")};
    model.values[place] = model.priors[place].value;
  }
  for (int i = 0; i < kParallelConstants; ++i)
    if (model.priors[static_cast<std::size_t>(i)].name.empty())
      throw ConfigError(fmt::format("{}: the constant {} is missing", where, kConstantNames[i]));
  return model;
}

const ParallelModel& default_parallel_model() {
  static const auto model =
      parse_parallel_model(parallel_preset_text("parallel.yaml"), "presets/parallel.yaml");
  return model;
}

}  // namespace gradwire
