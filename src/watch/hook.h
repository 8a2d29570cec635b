// The files of hook/, compiled in.
#pragma once

#include <string_view>

namespace gradwire {

std::string_view hook_text(
    std::string_view file);  // "sitecustomize.py"; throws Error if there is no such file

}  // namespace gradwire
