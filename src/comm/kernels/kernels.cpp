#include "comm/kernels/kernels.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "comm/kernels/variant.h"

namespace gradwire {
namespace {

constexpr Isa kBestFirst[kIsas] = {Isa::avx512, Isa::avx2, Isa::scalar};

Isa parse_isa(std::string_view text) {
  for (const Isa isa : kBestFirst)
    if (text == name_of(isa)) return isa;
  throw ConfigError(fmt::format("GRADWIRE_ISA is '{}': there are scalar, avx2 and avx512", text));
}

const KernelVariant& variant_of(Isa isa) {
  const KernelVariant* variant = find_variant(isa);
  check(variant != nullptr, "this build has no kernels for that instruction set");
  return *variant;
}

}  // namespace

std::string_view name_of(Isa isa) {
  constexpr std::string_view kNames[kIsas] = {"scalar", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

bool is_compiled(Isa isa) { return find_variant(isa) != nullptr; }
bool runs_here(Isa isa) { return is_compiled(isa) && processor_has(isa); }

Isa best_isa() {
  const Isa best = *std::find_if(std::begin(kBestFirst), std::end(kBestFirst), runs_here);
  const char* wish = std::getenv("GRADWIRE_ISA");
  return wish == nullptr || *wish == '\0' ? best : std::min(best, parse_isa(wish));
}

void combine(Isa isa, DType dtype, Reduction reduction, std::span<const std::byte* const> sources,
             std::span<std::byte* const> destinations, std::size_t bytes) {
  check(!sources.empty(), "a reduction of no sources");
  check(bytes % size_of(dtype) == 0, "a reduction of a part of an element");
  variant_of(isa).combine[static_cast<int>(dtype)][static_cast<int>(reduction)](
      {sources.data(), sources.size(), destinations.data(), destinations.size(), bytes});
}

void divide(Isa isa, DType dtype, int divisor, std::span<std::byte> data) {
  check(divisor > 0, "a division by less than one");
  check(data.size() % size_of(dtype) == 0, "a division of a part of an element");
  variant_of(isa).divide[static_cast<int>(dtype)](data.data(), data.size(), divisor);
}

}  // namespace gradwire
