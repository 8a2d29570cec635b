// In which precision a traced run computes, by the names of the kernels that multiply its matrices. Pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "import/profile.h"
#include "sched/training.h"

namespace gradwire {

// Libraries write it into their names: "ampere_bf16_s16816gemm_bf16_...", "Cijk_Ailk_Bljk_HHS_BH_...", "nvjet_tst_...".
// Nothing where a kernel multiplies no matrices, or its name does not tell.
std::optional<Precision> find_kernel_precision(std::string_view name);

// What more than half of the time of such kernels is in. Nothing where no precision has that much.
std::optional<Precision> find_precision(const Profile&);

}  // namespace gradwire
