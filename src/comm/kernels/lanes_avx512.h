// The widths and special instructions of AVX-512 (F, BW, DQ, VL).
#pragma once

#include <immintrin.h>

#include "comm/kernels/lanes.h"

namespace gradwire {
namespace {

constexpr int kLaneBytes = 64;

template <>
struct HalfConversion<16> {
  // The masked forms: GCC 12 warns about the uninitialised register inside its unmasked ones.
  static constexpr __mmask16 kAll = 0xffff;
  static Lanes<float, 16> widen(Lanes<std::uint16_t, 16> halves) {
    return bits_as<Lanes<float, 16>>(_mm512_maskz_cvtph_ps(kAll, bits_as<__m256i>(halves)));
  }
  static Lanes<std::uint16_t, 16> narrow(Lanes<float, 16> floats) {
    return bits_as<Lanes<std::uint16_t, 16>>(
        _mm512_maskz_cvtps_ph(kAll, bits_as<__m512>(floats), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

}  // namespace
}  // namespace gradwire
