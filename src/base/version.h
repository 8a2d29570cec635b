// Of this build: "0.1.0".
#pragma once

#include <string_view>

namespace gradwire {

std::string_view version();

}  // namespace gradwire
