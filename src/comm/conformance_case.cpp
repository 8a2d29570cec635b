#include "comm/conformance_case.h"

#include <fmt/format.h>

#include <cstdint>
#include <random>

namespace gradwire {
namespace {

template <typename T>
void append(Elements& elements, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  elements.insert(elements.end(), bytes, bytes + sizeof value);
}

void append_float(Elements& elements, DType dtype, float value) {
  switch (dtype) {
    case DType::f32:
      return append(elements, value);
    case DType::f64:
      return append(elements, static_cast<double>(value));
    case DType::f16:
      return append(elements, encode_half(value));
    default:
      return append(elements, encode_brain(value));
  }
}

// Small whole numbers: sums are exact in every type up to some 36 ranks. Products are of powers of two, and
// only the first four ranks contribute other than 1 and -1, so that no type overflows.
float exact_float(Reduction reduction, Rank rank, std::uint64_t random) {
  if (reduction == Reduction::min || reduction == Reduction::max)
    return static_cast<float>(random % 201) - 100;
  if (reduction != Reduction::product) return static_cast<float>(random % 15) - 7;
  constexpr float kFactors[] = {1, -1, 2, -2, 0.5, -0.5};
  return kFactors[random % (rank < 4 ? 6 : 2)];
}

}  // namespace

bool reduces(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce_scatter || kind == Collective::reduce;
}

bool has_root(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce || kind == Collective::gather ||
         kind == Collective::scatter;
}

bool is_float(DType dtype) { return dtype <= DType::bf16; }

std::string describe(const ConformanceCase& c) {
  return fmt::format("{} of {} {} a part{}{}, {} memory{}{}", name_of(c.kind), c.count, name_of(c.dtype),
                     reduces(c.kind) ? fmt::format(", {}", name_of(c.reduction)) : "",
                     c.root != 0 ? fmt::format(", root {}", c.root) : "",
                     c.from_backend ? "the backend's" : "ordinary", c.in_place ? ", in place" : "",
                     c.misalignment != 0 ? fmt::format(", misaligned by {}", c.misalignment) : "");
}

Elements pattern(const ConformanceCase& c, Rank rank, std::size_t elements) {
  std::mt19937 random(static_cast<unsigned>(c.count * 131 + static_cast<std::size_t>(rank) * 7919 + 17));
  Elements result;
  result.reserve(elements * size_of(c.dtype));
  if (is_float(c.dtype) && reduces(c.kind)) {
    std::uniform_real_distribution<float> fraction(-1, 1);
    for (std::size_t i = 0; i < elements; ++i)
      append_float(result, c.dtype, c.random ? fraction(random) : exact_float(c.reduction, rank, random()));
  } else {
    result.resize(elements * size_of(c.dtype));
    for (std::byte& byte : result) byte = static_cast<std::byte>(random() >> 8);
  }
  return result;
}

}  // namespace gradwire
