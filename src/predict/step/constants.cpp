#include "predict/step/constants.h"

#include "predict/presets.h"
#include "topo/yaml.h"

namespace gradwire {

std::vector<StepConstant> fitted_constants() {
  using C = StepConstants;
  return {{"ddp_us_per_tensor", &C::ddp_us_per_tensor},
          {"replicated_us_per_tensor", &C::replicated_us_per_tensor},
          {"staged_us_per_tensor", &C::staged_us_per_tensor},
          {"hiding_horovod", &C::hiding_horovod},
          {"slowdown_direct", &C::slowdown_direct},
          {"slowdown_host", &C::slowdown_host},
          {"spread_share", &C::spread_share}};
}

std::vector<StepConstant> all_constants() {
  using C = StepConstants;
  auto all = fitted_constants();
  all.insert(all.end(), {{"replicated_host_gbps", &C::replicated_host_gbps},
                         {"dataparallel_share", &C::dataparallel_share},
                         {"sgd_bytes", &C::sgd_bytes},
                         {"adam_bytes", &C::adam_bytes},
                         {"lamb_bytes", &C::lamb_bytes},
                         {"error_roofline", &C::error_roofline}});
  return all;
}

StepConstants parse_step_constants(std::string_view yaml, std::string_view where) {
  const auto root = parse_yaml(yaml, where);
  StepConstants constants;
  for (const auto& entry : root.maps("constants")) {
    entry.only({"name", "value", "source"});
    const auto name = entry.text("name");
    bool known = false;
    for (const auto& [key, member] : all_constants())
      if (key == name) constants.*member = entry.number("value", {0, 1e6}), known = true;
    if (!known) entry.fail("name", "the name of a constant of src/predict/step/constants.h");
    entry.text("source");
  }
  return constants;
}

StepConstants default_step_constants() {
  return parse_step_constants(step_preset_text("step.yaml"), "presets/step.yaml");
}

}  // namespace gradwire
