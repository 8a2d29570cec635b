// How elements come out of memory, what they are reduced with, and how they go back. Included by variant.cpp
// alone (see variant.h for the anonymous namespace).
#pragma once

#include <type_traits>

#include GRADWIRE_LANES

namespace gradwire {
namespace {

// A format has `Value`, the lanes that are computed with; `kBytes`, what they take in memory; load and store.
template <typename T, int Count>
struct IntegerFormat {
  using Value = Lanes<T, Count>;
  static constexpr int kBytes = Count * sizeof(T);
  static Value load(const std::byte* from) { return load_lanes<Value>(from); }
  static void store(Value value, std::byte* to) { store_lanes(value, to); }
};

template <typename V>
V with_one_nan(V value) {
  using T = std::remove_cvref_t<decltype(value[0])>;
  const V nan = V{} + static_cast<T>(__builtin_nan(""));
  return value == value ? value : nan;
}

template <typename T, int Count>
struct FloatFormat : IntegerFormat<T, Count> {
  using Value = Lanes<T, Count>;
  static void store(Value value, std::byte* to) { store_lanes(with_one_nan(value), to); }
};

template <int Count>
struct HalfFormat {
  using Value = Lanes<float, Count>;
  using Halves = Lanes<std::uint16_t, Count>;
  static constexpr int kBytes = Count * 2;
  static Value load(const std::byte* from) { return HalfConversion<Count>::widen(load_lanes<Halves>(from)); }
  static void store(Value value, std::byte* to) {
    store_lanes(HalfConversion<Count>::narrow(with_one_nan(value)), to);
  }
};

template <int Count>
struct BrainFormat {
  using Value = Lanes<float, Count>;
  using Words = Lanes<std::uint32_t, Count>;
  using Halves = Lanes<std::uint16_t, Count>;
  static constexpr int kBytes = Count * 2;
  static Value load(const std::byte* from) {
    return bits_as<Value>(__builtin_convertvector(load_lanes<Halves>(from), Words) << 16);
  }
  static void store(Value value, std::byte* to) {
    const Words word = bits_as<Words>(with_one_nan(value));
    const Words rounded = (word + 0x7fff + (word >> 16 & 1)) >> 16;  // to nearest even; may carry to infinity
    store_lanes(__builtin_convertvector(rounded, Halves), to);
  }
};

struct Sum {
  template <typename V>
  static V apply(V a, V b) {
    return a + b;
  }
};

struct Product {
  template <typename V>
  static V apply(V a, V b) {
    return a * b;
  }
};

// Where a equals b they are the same bits or two zeros, of which `tie` picks one by its sign. With a NaN the
// sum is a NaN.
template <typename V, typename Bits>
V ordered(V a, V b, V nearer, Bits tie) {
  const V result = a == b ? bits_as<V>(tie) : nearer;
  return (a == a) & (b == b) ? result : a + b;
}

template <bool kLess>
struct Extreme {
  template <typename V>
  static V apply(V a, V b) {
    const V nearer = kLess ? (a < b ? a : b) : (a > b ? a : b);
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(a[0])>>) {
      using Bits = decltype(a < b);
      const auto bits_a = bits_as<Bits>(a), bits_b = bits_as<Bits>(b);
      return ordered(a, b, nearer, kLess ? bits_a | bits_b : bits_a & bits_b);
    } else {
      return nearer;
    }
  }
};

// What happens to a total before it is stored.
struct Keep {
  template <typename V>
  V operator()(V total) const {
    return total;
  }
};

template <typename T>
struct Multiply {
  T factor;
  template <typename V>
  V operator()(V total) const {
    return total * factor;
  }
};

template <typename T>
struct Divide {
  T divisor;
  template <typename V>
  V operator()(V total) const {
    return total / divisor;
  }
};

// T is the element's own signed or unsigned type; the lanes are unsigned. No processor here divides vectors
// of integers, so neither do we.
template <typename T>
struct DivideInteger {
  std::int64_t divisor;
  template <typename V>
  V operator()(V total) const {
    for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i)
      total[i] = static_cast<std::make_unsigned_t<T>>(static_cast<T>(total[i]) / divisor);
    return total;
  }
};

}  // namespace
}  // namespace gradwire
