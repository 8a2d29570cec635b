// Vectors of `Count` values of type T, as GCC and clang extend the language; arithmetic on them is element by
// element. One lane is the plain value, so what is left over at the end of a buffer runs the same code.
// Included by variant.cpp alone (see variant.h for the anonymous namespace).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gradwire {
namespace {

template <typename T, int Count>
struct LanesOf {
  typedef T type __attribute__((vector_size(Count * sizeof(T))));
};
template <typename T>
struct LanesOf<T, 1> {
  using type = T;
};
template <typename T, int Count>
using Lanes = typename LanesOf<T, Count>::type;

template <typename V>
struct ElementOf {
  using type = std::remove_cvref_t<decltype(V{}[0])>;
};
template <typename V>
requires std::is_arithmetic_v<V>
struct ElementOf<V> {
  using type = V;
};
template <typename V>
using Element = typename ElementOf<V>::type;

// Unsigned integers of the same number and size.
template <typename V>
using BitsOf = Lanes<std::conditional_t<sizeof(Element<V>) == 4, std::uint32_t, std::uint64_t>,
                     sizeof(V) / sizeof(Element<V>)>;

// Element by element, as static_cast does.
template <typename To, typename From>
To convert(From from) {
  if constexpr (std::is_arithmetic_v<From>)
    return static_cast<To>(from);
  else
    return __builtin_convertvector(from, To);
}

template <typename To, typename From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

// The same lanes at any address. (Copying with memcpy would do, but GCC 12 then takes some through integer
// registers.)
template <typename V>
struct Anywhere {
  typedef V type __attribute__((aligned(1), may_alias));
};

template <typename V>
V load_lanes(const std::byte* from) {
  return *reinterpret_cast<const typename Anywhere<V>::type*>(from);
}

template <typename V>
void store_lanes(V lanes, std::byte* to) {
  *reinterpret_cast<typename Anywhere<V>::type*>(to) = lanes;
}

// float32 to and from binary16 in integer arithmetic, for every processor; a variant with instructions for it
// specialises this for its own width. NaNs must already be canonical in `narrow`. Words are signed because
// processors compare those faster; no magnitude has the sign bit.
template <int Count>
struct HalfConversion {
  using Floats = Lanes<float, Count>;
  using Words = Lanes<std::int32_t, Count>;
  using Halves = Lanes<std::uint16_t, Count>;

  static Floats widen(Halves halves) {
    const Words word = convert<Words>(halves);
    const Words magnitude = (word & 0x7fff) << 13;
    const Words normal = magnitude + (112 << 23);  // moves the exponent's bias from 15 to 127
    const Words special = normal + (112 << 23);    // infinity and NaN: to 255
    const Floats offset = bits_as<Floats>(magnitude + (113 << 23));  // denormal: 2^-14 + value, less 2^-14
    const Words denormal = bits_as<Words>(offset - 0x1p-14f);
    Words result = magnitude < (1 << 23) ? denormal : normal;
    result = magnitude >= (31 << 23) ? special : result;
    return bits_as<Floats>(result | (word & 0x8000) << 16);
  }

  static Halves narrow(Floats floats) {
    const Words word = bits_as<Words>(floats);
    const Words magnitude = word & 0x7fffffff;
    // Adding half a unit in the last place, less one where the last bit is even, rounds to nearest even; a
    // carry out of the largest finite value makes infinity, as it should.
    const Words normal = (magnitude + (0xfff - (112 << 23)) + (magnitude >> 13 & 1)) >> 13;
    // Below 2^-14 the sum with 0.5 has its last bit where the denormal's is, so the adder rounds.
    const Words denormal = bits_as<Words>(bits_as<Floats>(magnitude) + 0.5f) - (126 << 23);
    const Words special = magnitude > (255 << 23) ? Words{} + 0x7e00 : Words{} + 0x7c00;
    Words result = magnitude < (113 << 23) ? denormal : normal;
    result = magnitude >= (143 << 23) ? special : result;
    return convert<Halves>(result | (word >> 16 & 0x8000));
  }
};

}  // namespace
}  // namespace gradwire
