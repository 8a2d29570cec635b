// The widths and special instructions of AVX2 with F16C.
#pragma once

#include <immintrin.h>

#include "comm/kernels/lanes.h"

namespace gradwire {
namespace {

constexpr int kLaneBytes = 32;

template <>
struct HalfConversion<8> {
  static Lanes<float, 8> widen(Lanes<std::uint16_t, 8> halves) {
    return bits_as<Lanes<float, 8>>(_mm256_cvtph_ps(bits_as<__m128i>(halves)));
  }
  static Lanes<std::uint16_t, 8> narrow(Lanes<float, 8> floats) {
    return bits_as<Lanes<std::uint16_t, 8>>(
        _mm256_cvtps_ph(bits_as<__m256>(floats), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

}  // namespace
}  // namespace gradwire
