#include "predict/validation/remarks.h"

#include "predict/presets.h"
#include "topo/yaml.h"

namespace gradwire {

std::optional<std::string> find_remark(std::string_view record_id) {
  return parse_yaml(predict_preset_text("remarks.yaml"), "presets/measured/remarks.yaml")
      .find_text(record_id);
}

}  // namespace gradwire
