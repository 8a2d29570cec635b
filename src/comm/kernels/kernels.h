// Element-wise reductions, vectorised for the processor at hand. Every variant (scalar, AVX2, AVX-512) gives
// the same bits, so ranks on different processors agree. 16-bit floats are added in float32 and rounded once.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/collective.h"

namespace gradwire {

enum class Isa { scalar, avx2, avx512 };
Isa best_isa();  // of this processor; $GRADWIRE_ISA overrides downwards
std::string_view name_of(Isa);

// Each destination = sources[0] (+) sources[1] (+) ..., in that order, on `bytes` bytes of each; `avg`
// divides by the number of sources. Any alignment. A destination may be one of the sources but not overlap
// one otherwise.
void combine(Isa, DType, Reduction, std::span<const std::byte* const> sources,
             std::span<std::byte* const> destinations, std::size_t bytes);

// data = data / divisor, as `avg` does it.
void divide(Isa, DType, int divisor, std::span<std::byte> data);

}  // namespace gradwire
