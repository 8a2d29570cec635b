// Vectors of `Count` values of type T, as GCC and clang extend the language; arithmetic on them is element by
// element. One lane is the plain value, so what is left over at the end of a buffer runs the same code.
// Included by variant.cpp alone (see variant.h for the anonymous namespace).
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire {
namespace {

template <typename T, int Count>
struct LanesOf {
  typedef T type __attribute__((vector_size(Count * sizeof(T))));
};
template <typename T, int Count>
using Lanes = typename LanesOf<T, Count>::type;

template <typename To, typename From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

template <typename V>
V load_lanes(const std::byte* from) {
  V lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

template <typename V>
void store_lanes(V lanes, std::byte* to) {
  __builtin_memcpy(to, &lanes, sizeof lanes);
}

// float32 to and from binary16 in integer arithmetic, for every processor; a variant with instructions for it
// specialises this for its own width. NaNs must already be canonical in `narrow`.
template <int Count>
struct HalfConversion {
  using Floats = Lanes<float, Count>;
  using Words = Lanes<std::uint32_t, Count>;
  using Halves = Lanes<std::uint16_t, Count>;

  static Floats widen(Halves halves) {
    const Words word = __builtin_convertvector(halves, Words);
    const Words magnitude = (word & 0x7fff) << 13;
    const Words normal = magnitude + (112u << 23);   // moves the exponent's bias from 15 to 127
    const Words special = magnitude | (255u << 23);  // infinity and NaN
    const Floats offset = bits_as<Floats>(magnitude + (113u << 23));  // denormal: 2^-14 + value, less 2^-14
    const Words denormal = bits_as<Words>(offset - 0x1p-14f);
    Words result = magnitude < (1u << 23) ? denormal : normal;
    result = magnitude >= (31u << 23) ? special : result;
    return bits_as<Floats>(result | (word & 0x8000) << 16);
  }

  static Halves narrow(Floats floats) {
    const Words word = bits_as<Words>(floats);
    const Words magnitude = word & 0x7fffffff;
    // Adding half a unit in the last place, less one where the last bit is even, rounds to nearest even; a
    // carry out of the largest finite value makes infinity, as it should.
    const Words normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    // Below 2^-14 the sum with 0.5 has its last bit where the denormal's is, so the adder rounds.
    const Words denormal =
        bits_as<Words>(bits_as<Floats>(magnitude) + 0.5f) - bits_as<Words>(Floats{} + 0.5f);
    const Words special = (magnitude >> 13 & 0x200) | 0x7c00;
    Words result = magnitude < (113u << 23) ? denormal : normal;
    result = magnitude >= (143u << 23) ? (magnitude > (255u << 23) ? special : Words{} + 0x7c00) : result;
    return __builtin_convertvector(result | (word >> 16 & 0x8000), Halves);
  }
};

}  // namespace
}  // namespace gradwire
