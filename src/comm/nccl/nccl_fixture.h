// What the tests of the nccl backend on the stand-in share: eight GPUs, and no thread of theirs left behind.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "comm/nccl/nccl.h"
#include "standin/gpu_data.h"
#include "support/run_ranks.h"

namespace gradwire {

class NcclOnStandin : public testing::Test {
 protected:
  static constexpr int kGpus = 8;

  void SetUp() override { setenv("GRADWIRE_STANDIN_DEVICES", std::to_string(kGpus).c_str(), 1); }
  void TearDown() override {
    for (int device = kGpus - 1; device >= 0; --device)
      if (cudaSetDevice(device) == cudaSuccess) cudaDeviceReset();
  }
};

}  // namespace gradwire
