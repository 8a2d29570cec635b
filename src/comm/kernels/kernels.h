// Element-wise reductions, vectorised for the processor at hand. Every variant (portable, AVX2, AVX-512)
// gives the same bits, so ranks on different processors agree. Pure functions on the caller's memory: any
// thread.
//
// What an element becomes, whatever the variant:
//   f16, bf16   computed in float32 over all sources, rounded once to nearest even
//   NaN         propagates through every reduction, min and max too, and is stored as the type's
//               one quiet NaN (a library that keeps payloads would give bits that depend on the
//               order of operands)
//   min, max    order -0.0 below +0.0, as IEEE 754-2019 minimum and maximum do
//   integers    wrap around on overflow; avg divides the wrapped sum and truncates toward zero
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/collective.h"

namespace gradwire {

enum class Isa { scalar, avx2, avx512 };
inline constexpr int kIsas = 3;

Isa best_isa();         // of this processor; $GRADWIRE_ISA lowers it (throws ConfigError on a bad name)
bool is_compiled(Isa);  // scalar always; the others on x86
bool runs_here(Isa);    // compiled, and this processor has it
std::string_view name_of(Isa);

// Each destination = sources[0] (+) sources[1] (+) ..., in that order, on `bytes` bytes of each; `avg`
// divides by the number of sources. Any alignment. A destination may be one of the sources but not overlap
// one otherwise. `isa` must run here; `bytes` is a whole number of elements.
void combine(Isa isa, DType, Reduction, std::span<const std::byte* const> sources,
             std::span<std::byte* const> destinations, std::size_t bytes);

// data = data / divisor, as `avg` does it.
void divide(Isa isa, DType, int divisor, std::span<std::byte> data);

}  // namespace gradwire
