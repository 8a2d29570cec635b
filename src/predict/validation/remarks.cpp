#include "predict/validation/remarks.h"

#include <yaml-cpp/yaml.h>

#include "predict/presets.h"

namespace gradwire {

std::optional<std::string> find_remark(std::string_view record_id) {
  const YAML::Node remarks = YAML::Load(std::string(predict_preset_text("remarks.yaml")));
  const YAML::Node remark = remarks[std::string(record_id)];
  return remark ? std::optional(remark.as<std::string>()) : std::nullopt;
}

}  // namespace gradwire
