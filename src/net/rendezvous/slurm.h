// Slurm's way to write lists of hosts.
#pragma once

#include <string>
#include <string_view>

namespace gradwire {

// The first host of a list: "gpu[007-010,12]-ib,login" begins with gpu007-ib. Throws ConfigError.
std::string first_host(std::string_view list);

}  // namespace gradwire
