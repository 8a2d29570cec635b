// Linked with the real CUDA runtime and the real NCCL. On a machine without a GPU it shows that the backend
// says so; on one with GPUs it all-reduces between all of them.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include "base/error.h"
#include "comm/nccl/nccl.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

int count_gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void expect_clear_refusal() {
  try {
    make_nccl(World{});
    FAIL() << "made a communicator without a GPU";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("no GPU is here: cudaGetDeviceCount says"),
                                             testing::HasSubstr("--backend shm")));
  }
}

void all_reduce_on_gpu(const World& world) {
  const auto nccl = make_nccl(world);
  std::vector<float> values(1000, 1);
  const auto memory = nccl->allocate(values.size() * sizeof(float));
  ASSERT_EQ(cudaSetDevice(world.local_rank), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(memory.bytes().data(), values.data(), memory.bytes().size(), cudaMemcpyHostToDevice),
            cudaSuccess);
  nccl->run(all_reduce(memory.bytes(), DType::f32));
  ASSERT_EQ(cudaMemcpy(values.data(), memory.bytes().data(), memory.bytes().size(), cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(values, std::vector<float>(1000, static_cast<float>(world.size)));
  dynamic_cast<NcclCommunicator&>(*nccl).finish();
}

TEST(RealNccl, all_reduces_between_the_gpus_or_says_that_there_are_none) {
  const int gpus = count_gpus();
  if (gpus == 0) return expect_clear_refusal();
  all_reduce_on_gpu(World{});
  expect_all_ok(run_threads(gpus, all_reduce_on_gpu));
}

}  // namespace
}  // namespace gradwire
