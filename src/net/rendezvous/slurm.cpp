#include "net/rendezvous/slurm.h"

#include "base/error.h"

namespace gradwire {

std::string first_host(std::string_view list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ',';) {
    if (list[i] != '[') {
      host += list[i++];
      continue;
    }
    const auto close = list.find(']', i);
    const auto first = list.substr(i + 1, list.find_first_of("-,]", i) - i - 1);
    if (close == std::string_view::npos || first.empty())
      throw ConfigError(fmt::format("Slurm's list of hosts '{}' is not understood: set MASTER_ADDR", list));
    host += first;
    i = close + 1;
  }
  if (host.empty()) throw ConfigError("Slurm's list of hosts is empty: set MASTER_ADDR");
  return host;
}

}  // namespace gradwire
