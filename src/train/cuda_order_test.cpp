// The order of streams on the stand-in for CUDA and NCCL: gradients that are still in the making when their
// bucket leaves, and an optimizer that reads them while the host has long gone on.
#include "train/cuda_order.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "comm/nccl/nccl_fixture.h"

namespace gradwire {
namespace {

using CudaOrder = NcclOnStandin;
using Floats = std::vector<float>;

void write(const GpuData<float>& data, std::size_t first, const Floats& values, cudaStream_t stream) {
  require(cudaMemcpyAsync(data.bytes().data() + first * sizeof(float), values.data(),
                          values.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
}

TEST_F(CudaOrder, sends_a_bucket_after_gradients_of_two_streams_and_before_the_optimizer) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> bucket(world.rank, {-1, -1, -1, -1}), weights(world.rank, {0, 0, 0, 0});
    GatedStream one(world.rank), two(world.rank);
    cudaStream_t current = one.get();
    const CurrentStream where = [&current] { return current; };
    StreamCommunicator communicator(*nccl, where);
    GradientOrder order(where);

    const float mine = static_cast<float>(world.rank);
    const Floats first{mine, 1}, second{2, mine};
    write(bucket, 0, first, one.get());  // backward, on two streams that have not got there yet
    order.gradient_made(0);
    current = two.get();
    write(bucket, 2, second, two.get());
    order.gradient_made(0);
    order.wait_for_gradients(0);
    const auto work = communicator.start(all_reduce(bucket.bytes(), DType::f32, Reduction::avg));
    work->wait();  // the stream's affair: the host is here while both gates are shut
    EXPECT_FALSE(work->done());
    EXPECT_EQ(bucket.read(), (Floats{-1, -1, -1, -1}));
    require(cudaMemcpyAsync(weights.bytes().data(), bucket.bytes().data(), weights.bytes().size(),
                            cudaMemcpyDeviceToDevice, current));  // the optimizer
    two.open();
    EXPECT_FALSE(work->done());  // one's gradient is still missing
    one.open();
    require(cudaStreamSynchronize(two.get()));
    EXPECT_EQ(weights.read(), (Floats{0.5, 1, 2, 0.5}));
  }));
}

TEST_F(CudaOrder, runs_a_call_in_the_order_of_the_current_stream) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {-1});
    GatedStream stream(world.rank);
    StreamCommunicator communicator(*nccl, [&] { return stream.get(); });
    const Floats value{3};
    write(data, 0, value, stream.get());
    communicator.run(all_reduce(data.bytes(), DType::f32));
    stream.open();
    require(cudaStreamSynchronize(stream.get()));
    EXPECT_EQ(data.read(), (Floats{6}));
    EXPECT_EQ(communicator.size(), 2);
    EXPECT_EQ(communicator.name(), "nccl");
  }));
}

TEST_F(CudaOrder, refuses_a_communicator_of_host_memory) {
  struct Host final : Communicator {
    Rank rank() const override { return 0; }
    int size() const override { return 1; }
    std::string name() const override { return "shm"; }
    std::unique_ptr<Work> start(const Call&) override { return nullptr; }
    void run(const Call&) override {}
    Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  } host;
  EXPECT_THROW(StreamCommunicator(host, [] { return nullptr; }), ConfigError);
}

}  // namespace
}  // namespace gradwire
