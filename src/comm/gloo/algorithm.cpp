#include <fmt/ranges.h>

#include <array>

#include "base/error.h"
#include "comm/gloo/gloo.h"

namespace gradwire {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"ring",         "bcube",        "halving_doubling",
                                                    "ring_chunked", "classic_ring", "classic_bcube"};

}  // namespace

std::string_view name_of(GlooAlgorithm algorithm) { return kNames[static_cast<std::size_t>(algorithm)]; }

GlooAlgorithm parse_gloo_algorithm(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<GlooAlgorithm>(i);
  throw ConfigError(fmt::format("gloo has no algorithm '{}': there are {}", name, fmt::join(kNames, ", ")));
}

}  // namespace gradwire
