// How elements come out of memory, what they are reduced with, and how they go back. Included by variant.cpp
// alone (see variant.h for the anonymous namespace).
#pragma once

#include <type_traits>

#include GRADWIRE_LANES

namespace gradwire {
namespace {

// A format has `Value`, the lanes that are computed with; `Stored`, the same as memory holds them; the ways
// between the two, of which pack is done once for all destinations.
template <typename T, int Count>
struct IntegerFormat {
  using Value = Lanes<T, Count>;
  using Stored = Value;
  static Value unpack(Stored stored) { return stored; }
  static Stored pack(Value value) { return value; }
};

template <typename V>
V with_one_nan(V value) {
  const V nan = V{} + static_cast<Element<V>>(__builtin_nan(""));
  return value == value ? value : nan;
}

template <typename T, int Count>
struct FloatFormat {
  using Value = Lanes<T, Count>;
  using Stored = Value;
  static Value unpack(Stored stored) { return stored; }
  static Stored pack(Value value) { return with_one_nan(value); }
};

template <int Count>
struct HalfFormat {
  using Value = Lanes<float, Count>;
  using Stored = Lanes<std::uint16_t, Count>;
  static Value unpack(Stored stored) { return HalfConversion<Count>::widen(stored); }
  static Stored pack(Value value) { return HalfConversion<Count>::narrow(with_one_nan(value)); }
};

// A bfloat16 is the upper half of a float32. Rounds to nearest even; may carry to infinity, as it should.
template <typename V>
BitsOf<V> rounded_to_brain(V value) {
  const auto bits = bits_as<BitsOf<V>>(with_one_nan(value));
  return bits + 0x7fff + (bits >> 16 & 1);
}

// Two vectors of floats: the elements with even and with odd numbers, which sit in the lower and upper halves
// of the words of memory. So nothing moves from lane to lane.
template <typename V>
struct Pair {
  V even, odd;
};

template <int Count>
struct BrainFormat {
  using Value = Pair<Lanes<float, Count / 2>>;
  using Stored = Lanes<std::uint32_t, Count / 2>;
  static Value unpack(Stored stored) {
    return {bits_as<Lanes<float, Count / 2>>(stored << 16),
            bits_as<Lanes<float, Count / 2>>(stored & 0xffff0000)};
  }
  static Stored pack(Value value) {
    return rounded_to_brain(value.even) >> 16 | (rounded_to_brain(value.odd) & 0xffff0000);
  }
};

template <>
struct BrainFormat<1> {
  using Value = float;
  using Stored = std::uint16_t;
  static Value unpack(Stored stored) { return bits_as<float>(static_cast<std::uint32_t>(stored) << 16); }
  static Stored pack(Value value) { return static_cast<std::uint16_t>(rounded_to_brain(value) >> 16); }
};

// Operations see vectors, never pairs of them.
template <typename Operation, typename V>
V apply(V a, V b) {
  return Operation::apply(a, b);
}
template <typename Operation, typename V>
Pair<V> apply(Pair<V> a, Pair<V> b) {
  return {Operation::apply(a.even, b.even), Operation::apply(a.odd, b.odd)};
}
template <typename Finish, typename V>
V finished(Finish finish, V total) {
  return finish(total);
}
template <typename Finish, typename V>
Pair<V> finished(Finish finish, Pair<V> total) {
  return {finish(total.even), finish(total.odd)};
}

// Small integers grow when they are added one by one, hence the casts.
struct Sum {
  template <typename V>
  static V apply(V a, V b) {
    return static_cast<V>(a + b);
  }
};

struct Product {
  template <typename V>
  static V apply(V a, V b) {
    return static_cast<V>(a * b);
  }
};

// The smaller (or larger) of each pair. Floats that are equal are the same bits or two zeros, of which the
// sign decides; with a NaN the sum is a NaN.
template <bool kLess>
struct Extreme {
  template <typename V>
  static V apply(V a, V b) {
    const V nearer = kLess ? (a < b ? a : b) : (a > b ? a : b);
    if constexpr (std::is_floating_point_v<Element<V>>) {
      const auto bits_a = bits_as<BitsOf<V>>(a), bits_b = bits_as<BitsOf<V>>(b);
      const V tie = bits_as<V>(kLess ? bits_a | bits_b : bits_a & bits_b);
      const V ordered = a == b ? tie : nearer;
      return ((a == a) & (b == b)) ? ordered : a + b;
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
    T elements[sizeof(V) / sizeof(T)];
    __builtin_memcpy(elements, &total, sizeof total);
    for (T& element : elements) element = static_cast<T>(element / divisor);
    __builtin_memcpy(&total, elements, sizeof total);
    return total;
  }
};

}  // namespace
}  // namespace gradwire
