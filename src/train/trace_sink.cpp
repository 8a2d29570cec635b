#include "train/trace_sink.h"

#include <array>

namespace gradwire {

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames{
      "backward", "bucket ready", "bucket all_reduce", "bucket compress", "exposed wait", "buffer sync"};
  return kNames[static_cast<std::size_t>(phase)];
}

}  // namespace gradwire
