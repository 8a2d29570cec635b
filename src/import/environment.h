// Variables as `env`, a shell script's exports or /proc/PID/environ hold them. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "import/nccl_log.h"

namespace gradwire {

struct EnvironmentFile {
  std::string file;
  std::map<std::string, SaidInLog> variables;  // name: value and line
};

EnvironmentFile parse_environment(std::string_view text, const std::string& name);

}  // namespace gradwire
