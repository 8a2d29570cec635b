#include "net/host_share.h"

#include <fmt/ranges.h>

#include <set>

#include "base/error.h"
#include "base/text.h"
#include "net/exchange.h"

namespace gradwire {

Backoff backoff_for(const World& world, Deadline deadline) {
  const std::string host = host_identity() + "|";
  const auto everybody = exchange(
      world, "cores", deadline, [&] { return host + fmt::format("{}", fmt::join(usable_core_list(), ",")); });
  int ranks = 0;
  std::set<std::string, std::less<>> cores;
  for (const auto& text : everybody) {
    if (!text.starts_with(host)) continue;
    ++ranks;
    for (const auto core : split(std::string_view(text).substr(host.size()), ',')) cores.emplace(core);
  }
  return Backoff(ranks, static_cast<int>(cores.size()));
}

}  // namespace gradwire
