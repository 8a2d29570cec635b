#include "comm/kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace gradwire {
namespace {

// A binary float of `digits` significant bits and exponents down to `least`, rounded from `value` by scaling
// its last place to 1.
float round_to(float value, int digits, int least) {
  const int exponent = std::max(std::ilogb(value), least) - (digits - 1);
  return std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
}

struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};

// Decoding to what is computed with, and back.
float decode(Half value) { return decode_half(value.bits); }
float decode(Brain value) { return decode_brain(value.bits); }
template <typename T>
T decode(T value) {
  return value;
}

template <typename T, typename V>
T encode(V value) {
  if constexpr (std::is_same_v<T, Half>)
    return {encode_half(value)};
  else if constexpr (std::is_same_v<T, Brain>)
    return {encode_brain(value)};
  else if constexpr (std::is_floating_point_v<T>)
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
  else
    return value;
}

template <typename V>
V smaller(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<V>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

template <typename V>
V larger(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<V>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

// Integers wrap: computed in 64 unsigned bits, of which the low ones are kept.
template <typename V>
V added(V a, V b) {
  if constexpr (std::is_integral_v<V>)
    return static_cast<V>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <typename V>
V multiplied(V a, V b) {
  if constexpr (std::is_integral_v<V>)
    return static_cast<V>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}

template <typename V>
V reduced(Reduction reduction, V a, V b) {
  switch (reduction) {
    case Reduction::min:
      return smaller(a, b);
    case Reduction::max:
      return larger(a, b);
    case Reduction::product:
      return multiplied(a, b);
    default:
      return added(a, b);
  }
}

template <typename V>
V divided(V value, int divisor) {
  if constexpr (std::is_integral_v<V>)
    return static_cast<V>(static_cast<std::int64_t>(value) / divisor);
  else
    return value / static_cast<V>(divisor);
}

template <typename T>
T element(const Elements& buffer, std::size_t index) {
  T value;
  std::memcpy(&value, buffer.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
Elements combine_as(Reduction reduction, const std::vector<Elements>& sources, int divisor) {
  Elements result(sources[0].size());
  for (std::size_t i = 0; i < result.size() / sizeof(T); ++i) {
    auto total = decode(element<T>(sources[0], i));
    for (std::size_t s = 1; s < sources.size(); ++s)
      total = reduced(reduction, total, decode(element<T>(sources[s], i)));
    if (divisor > 0) total = divided(total, divisor);
    const T stored = encode<T>(total);
    std::memcpy(result.data() + i * sizeof(T), &stored, sizeof(T));
  }
  return result;
}

// A divisor of 0 stands for none.
Elements combine_any(DType dtype, Reduction reduction, const std::vector<Elements>& sources, int divisor) {
  switch (dtype) {
    case DType::f32:
      return combine_as<float>(reduction, sources, divisor);
    case DType::f64:
      return combine_as<double>(reduction, sources, divisor);
    case DType::f16:
      return combine_as<Half>(reduction, sources, divisor);
    case DType::bf16:
      return combine_as<Brain>(reduction, sources, divisor);
    case DType::i8:
      return combine_as<std::int8_t>(reduction, sources, divisor);
    case DType::u8:
      return combine_as<std::uint8_t>(reduction, sources, divisor);
    case DType::i32:
      return combine_as<std::int32_t>(reduction, sources, divisor);
    default:
      return combine_as<std::int64_t>(reduction, sources, divisor);
  }
}

}  // namespace

float decode_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 1024),
                           exponent == 0 ? -24 : exponent - 25);
  if (exponent == 31) value = fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : INFINITY;
  return (bits & 0x8000) != 0 ? -value : value;
}

float decode_brain(std::uint16_t bits) {
  const int exponent = bits >> 7 & 255, fraction = bits & 127;
  float value = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 128),
                           exponent == 0 ? -133 : exponent - 134);
  if (exponent == 255) value = fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : INFINITY;
  return (bits & 0x8000) != 0 ? -value : value;
}

std::uint16_t encode_half(float value) {
  if (std::isnan(value)) return 0x7e00;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::abs(value);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  const float rounded = std::isinf(magnitude) ? magnitude : round_to(magnitude, 11, -14);
  if (rounded >= 65536) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = std::max(rounded == 0 ? -14 : std::ilogb(rounded), -14);
  const int scaled = static_cast<int>(std::ldexp(rounded, 10 - exponent));  // 1024.. when normal
  return static_cast<std::uint16_t>(sign | (scaled + (exponent + 14) * 1024));
}

std::uint16_t encode_brain(float value) {
  if (std::isnan(value)) return 0x7fc0;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::abs(value);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  const float rounded = std::isinf(magnitude) ? magnitude : round_to(magnitude, 8, -126);
  if (std::isinf(rounded)) return static_cast<std::uint16_t>(sign | 0x7f80);
  const int exponent = std::max(rounded == 0 ? -126 : std::ilogb(rounded), -126);
  const int scaled = static_cast<int>(std::ldexp(rounded, 7 - exponent));  // 128.. when normal
  return static_cast<std::uint16_t>(sign | (scaled + (exponent + 126) * 128));
}

Elements reference_combine(DType dtype, Reduction reduction, const std::vector<Elements>& sources) {
  const int divisor = reduction == Reduction::avg ? static_cast<int>(sources.size()) : 0;
  return combine_any(dtype, reduction, sources, divisor);
}

Elements reference_divide(DType dtype, int divisor, const Elements& data) {
  return combine_any(dtype, Reduction::sum, {data}, divisor);
}

}  // namespace gradwire
