#include <cpuid.h>

#include "comm/kernels/variant.h"

namespace gradwire {
namespace {

// The compilers' own test also asks the system whether it keeps the wide registers; it doesn't know F16C
// everywhere.
bool has_half_conversion() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && has_half_conversion(); }

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

const KernelVariant* find_variant(Isa isa) {
  constexpr const KernelVariant* kVariants[kIsas] = {&kScalarVariant, &kAvx2Variant, &kAvx512Variant};
  return kVariants[static_cast<int>(isa)];
}

bool processor_has(Isa isa) {
  return isa == Isa::scalar || (isa == Isa::avx2 ? has_avx2() : has_avx2() && has_avx512());
}

}  // namespace gradwire
