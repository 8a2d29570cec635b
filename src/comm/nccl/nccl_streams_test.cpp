#include <barrier>
#include <latch>

#include "comm/nccl/nccl_fixture.h"
#include "cuda.h"

namespace gradwire {
namespace {

using NcclStreams = NcclOnStandin;
constexpr int kRanks = 2;

Call all_reduce_after(const GpuData<float>& data, cudaStream_t stream) {
  Call call = all_reduce(data.bytes(), DType::f32);
  call.stream = stream;
  return call;
}

TEST_F(NcclStreams, reads_its_input_only_when_the_callers_stream_has_made_it) {
  std::barrier all_started(kRanks);
  expect_all_ok(run_threads(kRanks, [&all_started](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {-1, -1});
    const std::vector<float> values{1, 2};
    GatedStream stream(world.rank);
    require(cudaMemcpyAsync(data.bytes().data(), values.data(), data.bytes().size(), cudaMemcpyHostToDevice,
                            stream.get()));
    const auto work = nccl->start(all_reduce_after(data, stream.get()));
    all_started.arrive_and_wait();
    EXPECT_FALSE(work->done());
    stream.open();
    work->wait();
    EXPECT_EQ(data.read(), (std::vector<float>{2, 4}));
  }));
}

TEST_F(NcclStreams, takes_no_stream_for_the_default_stream_of_its_gpu) {
  expect_all_ok(run_threads(kRanks, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {-1, -1});
    const std::vector<float> values{1, 2};
    GatedStream stream(world.rank);
    cudaEvent_t made = nullptr;
    require(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    require(cudaEventRecord(made, stream.get()));
    require(cudaStreamWaitEvent(nullptr, made, 0));
    require(cudaMemcpyAsync(data.bytes().data(), values.data(), data.bytes().size(), cudaMemcpyHostToDevice,
                            nullptr));
    require(cudaSetDevice(7));  // the caller's current GPU is another
    const auto work = nccl->start(all_reduce_after(data, nullptr));
    EXPECT_FALSE(work->done());
    stream.open();
    work->wait();
    EXPECT_EQ(data.read(), (std::vector<float>{2, 4}));
    require(cudaEventDestroy(made));
  }));
}

TEST_F(NcclStreams, makes_another_stream_wait_while_the_host_goes_on) {
  expect_all_ok(run_threads(kRanks, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {1, 2}), copy(world.rank, {-1, -1});
    GatedStream producer(world.rank), consumer(world.rank);
    const auto work = nccl->start(all_reduce_after(data, producer.get()));
    consumer.open();
    dynamic_cast<NcclWork&>(*work).wait_on(consumer.get());
    require(cudaMemcpyAsync(copy.bytes().data(), data.bytes().data(), copy.bytes().size(),
                            cudaMemcpyDeviceToDevice, consumer.get()));
    producer.open();  // the host came here although the call can't have ended
    require(cudaStreamSynchronize(consumer.get()));
    EXPECT_EQ(copy.read(), (std::vector<float>{2, 4}));
    work->wait();
  }));
}

TEST_F(NcclStreams, lets_calls_overlap_with_work_of_the_callers_stream) {
  expect_all_ok(run_threads(kRanks, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {1, 2});
    cudaStream_t stream = nullptr;
    require(cudaSetDevice(world.rank));
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const auto work = nccl->start(all_reduce_after(data, stream));
    std::latch gate(1);
    require(cudaLaunchHostFunc(
        stream, [](void* held) { static_cast<std::latch*>(held)->wait(); }, &gate));
    work->wait();  // although the caller's stream stands still behind the call
    gate.count_down();
    EXPECT_EQ(data.read(), (std::vector<float>{2, 4}));
    require(cudaStreamSynchronize(stream));  // which still looks at the gate
    require(cudaStreamDestroy(stream));
  }));
}

TEST_F(NcclStreams, goes_on_with_a_call_whose_work_nobody_kept) {
  expect_all_ok(run_threads(kRanks, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {1, 2});
    nccl->start(all_reduce(data.bytes(), DType::f32));
    nccl->run(barrier());
    EXPECT_EQ(data.read(), (std::vector<float>{2, 4}));
  }));
}

TEST_F(NcclStreams, leaves_the_threads_gpu_as_it_was) {
  require(cudaSetDevice(2));
  const auto nccl = make_nccl(World{}, {.device = 3});
  nccl->run(barrier());
  int device = -1;
  require(cudaGetDevice(&device));
  EXPECT_EQ(device, 2);
}

// With one rank for each GPU a process that opens GPU 0 on the way takes memory from rank 0.
TEST_F(NcclStreams, opens_no_gpu_but_its_own) {
  expect_all_ok(run_threads(1, [](const World& world) {
    const auto nccl = make_nccl(world, {.device = 6});
    nccl->run(barrier());
    const auto memory = nccl->allocate(64);
    nccl->run(all_reduce(memory.bytes(), DType::f32));
  }));
  for (int device : {0, 1, 7}) {
    unsigned int flags = 0;
    int active = -1;
    cuDevicePrimaryCtxGetState(device, &flags, &active);
    EXPECT_EQ(active, 0) << device;
  }
}

}  // namespace
}  // namespace gradwire
