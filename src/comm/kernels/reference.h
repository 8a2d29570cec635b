// What the kernels must give, computed one element at a time in the plainest way, sharing nothing with them:
// 16-bit floats by ldexp and nearbyint rather than by bits. For tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/collective.h"

namespace gradwire {

float decode_half(std::uint16_t bits);
float decode_brain(std::uint16_t bits);
std::uint16_t encode_half(float value);  // to nearest even; every NaN becomes 0x7e00
std::uint16_t encode_brain(float value);

using Elements = std::vector<std::byte>;  // of one type, side by side

// sources[0] (+) sources[1] (+) ...; all of one size.
Elements reference_combine(DType, Reduction, const std::vector<Elements>& sources);
Elements reference_divide(DType, int divisor, const Elements& data);

}  // namespace gradwire
