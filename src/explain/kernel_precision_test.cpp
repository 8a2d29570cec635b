#include "explain/kernel_precision.h"

#include <gtest/gtest.h>

#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

TEST(KernelPrecision, is_told_by_the_names_of_cublas_cutlass_cudnn_tensile_and_nvjet) {
  const std::pair<const char*, std::optional<Precision>> kNames[] = {
      {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", Precision::bf16},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_tn_align8>(T1::Params)",
       Precision::bf16},
      {"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", Precision::bf16},
      {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1_SN", Precision::bf16},
      {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", Precision::fp16},
      {"turing_h1688gemm_128x128_ldg8_stages_32x1_tn", Precision::fp16},
      {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize160x128x32_stage4", Precision::fp16},
      {"nvjet_hsh_128x128_64x6_1x2_h_bz_TNN", Precision::fp16},
      {"Cijk_Alik_Bljk_HHS_BH_MT64x64x64", Precision::fp16},
      {"cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", Precision::tf32},
      {"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16", Precision::tf32},
      {"ampere_sgemm_128x64_tn", Precision::fp32},
      {"volta_scudnn_128x64_relu_interior_nn_v1", Precision::fp32},
      {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8", Precision::fp32},
      {"Cijk_Ailk_Bljk_SB_MT64x64x16_SN", Precision::fp32},
      {"Cijk_Alik_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT64x64x32", Precision::fp32},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>>",
       std::nullopt},
      {"triton_mm_fused_0", std::nullopt}};
  for (const auto& [name, precision] : kNames) EXPECT_EQ(find_kernel_precision(name), precision) << name;
}

TEST(KernelPrecision, is_of_most_of_the_time_that_matrices_are_multiplied_in) {
  SampleTrace trace;
  trace.gpu("kernel", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", 0, 600);
  trace.gpu("kernel", "ampere_sgemm_128x64_tn", 600, 300);
  trace.gpu("kernel", "elementwise_kernel", 900, 5000);
  EXPECT_EQ(find_precision(trace.profile()), Precision::bf16);
  trace.gpu("kernel", "gemm_of_somebody", 6000, 400);
  EXPECT_EQ(find_precision(trace.profile()), std::nullopt) << "600 of 1300 are no majority";
}

}  // namespace
}  // namespace gradwire
