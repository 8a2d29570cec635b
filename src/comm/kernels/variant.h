// What one compilation of variant.cpp offers: its functions by type and reduction. Internal to this folder.
//
// variant.cpp is compiled once per instruction set, so neither it nor what it includes may define an inline
// function or template with external linkage: the linker keeps one copy of those, perhaps the one built for a
// processor that isn't there. Hence plain pointers here and anonymous namespaces there; a test reads the
// objects' symbols.
#pragma once

#include <cstddef>

#include "base/collective.h"
#include "comm/kernels/kernels.h"

namespace gradwire {

struct CombineJob {
  const std::byte* const* sources;
  std::size_t source_count;  // at least 1
  std::byte* const* destinations;
  std::size_t destination_count;
  std::size_t bytes;
};

struct KernelVariant {
  void (*combine[kDTypes][kReductions])(const CombineJob&);
  void (*divide[kDTypes])(std::byte* data, std::size_t bytes, int divisor);
};

extern const KernelVariant kScalarVariant, kAvx2Variant, kAvx512Variant;

// Those that this build has, null where it has not; chosen by CMake for the target's architecture.
const KernelVariant* find_variant(Isa isa);
bool processor_has(Isa isa);

}  // namespace gradwire
