#include "explain/kernel_precision.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>

#include "base/text.h"

namespace gradwire {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](auto word) { return text.find(word) != std::string_view::npos; });
}

// rocBLAS and hipBLASLt (Tensile) write types of inputs, output and sums as letters: "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32".
std::optional<Precision> find_tensile_precision(std::string_view name) {
  if (has_any(name, {"_BBS_", "_BSS_", "_BB_"})) return Precision::bf16;
  if (has_any(name, {"_HHS_", "_HSS_", "_HBH_", "_HB_"})) return Precision::fp16;
  if (has_any(name, {"_S_MX_", "_SX_", "_XSS_"})) return Precision::tf32;
  if (has_any(name, {"_SB_", "_S_B_", "_SS_"})) return Precision::fp32;
  return std::nullopt;
}

bool multiplies_matrices(std::string_view lower) {
  return has_any(
      lower, {"gemm", "cutlass", "cijk_", "nvjet", "xmma", "convolve", "conv2d", "conv3d", "cudnn_", "scudnn",
              "hcudnn", "wgrad", "dgrad", "fprop", "s884", "h884", "s1688", "16816", "hmma"});
}

}  // namespace

std::optional<Precision> find_kernel_precision(std::string_view name) {
  const std::string lower = lower_case(name);
  if (!multiplies_matrices(lower)) return std::nullopt;
  if (name.starts_with("Cijk_")) return find_tensile_precision(name);
  if (has_any(lower, {"e4m3", "e5m2", "fp8", "int8", "imma", "s8s8"})) return std::nullopt;
  if (has_any(lower, {"bf16", "bfloat16", "_tst_", "_tss_", "_ttt_"})) return Precision::bf16;
  // Before f16: a product of TF32 may be rounded to either.
  if (has_any(lower, {"tf32"})) return Precision::tf32;
  if (has_any(lower, {"f16", "_h_", "half", "hgemm", "h884", "h1688", "16816", "s884", "hcudnn", "hmma",
                      "_hsh_", "_hss_", "_hhh_"}))
    return Precision::fp16;
  if (has_any(lower, {"s1688"})) return Precision::tf32;
  if (has_any(lower, {"sgemm", "scudnn", "f32f32", "gemm<float", "gemmsn", "simt_s"})) return Precision::fp32;
  return std::nullopt;
}

std::optional<Precision> find_precision(const Profile& profile) {
  std::map<std::uint32_t, Nanoseconds> by_name;
  for (const Activity& activity : profile.activities)
    if (activity.kind == ActivityKind::kernel) by_name[activity.name] += activity.end - activity.begin;
  std::map<Precision, Nanoseconds> told;
  Nanoseconds all = 0;
  for (const auto& [index, time] : by_name) {
    const std::string& name = profile.names[index];
    if (!multiplies_matrices(lower_case(name))) continue;
    all += time;
    if (const auto precision = find_kernel_precision(name)) told[*precision] += time;
  }
  for (const auto& [precision, time] : told)
    if (2 * time > all) return precision;
  return std::nullopt;
}

}  // namespace gradwire
