// What is known of measured records that the model gets wrong: presets/measured/remarks.yaml.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gradwire {

std::optional<std::string> find_remark(std::string_view record_id);

}  // namespace gradwire
