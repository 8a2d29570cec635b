// The stand-in itself: that it catches the mistakes it is there to catch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "nccl.h"
#include "standin/gpu_data.h"

namespace gradwire {
namespace {

class Standin : public testing::Test {
 protected:
  void SetUp() override { setenv("GRADWIRE_STANDIN_DEVICES", "2", 1); }
  void TearDown() override {
    for (int device : {1, 0})
      if (cudaSetDevice(device) == cudaSuccess) cudaDeviceReset();
  }
};

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

cudaEvent_t make_event() {
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

// A communicator of the calling thread, at rest.
ncclComm_t make_communicator(int size, const ncclUniqueId& id, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t communicator = nullptr;
  require(cudaSetDevice(rank));
  // It may be done before the call returns: then the answer is that it is.
  const ncclResult_t state = ncclCommInitRankConfig(&communicator, size, id, rank, &config);
  EXPECT_TRUE(state == ncclInProgress || state == ncclSuccess) << state;
  return communicator;
}

ncclResult_t settle(ncclComm_t communicator) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    EXPECT_EQ(ncclCommGetAsyncError(communicator, &state), ncclSuccess);
    std::this_thread::yield();
  }
  return state;
}

TEST_F(Standin, does_not_order_streams_that_no_event_orders) {
  const GpuData<int> data(0, {1});
  GatedStream held(0);
  EXPECT_EQ(data.read(), std::vector<int>{1});  // on the default stream, although another stands still
}

TEST_F(Standin, waits_for_the_record_made_before_and_for_no_later_one) {
  GatedStream first(0), second(0);
  const cudaStream_t waiting = make_stream();
  const cudaEvent_t event = make_event();
  require(cudaEventRecord(event, first.get()));
  require(cudaStreamWaitEvent(waiting, event, 0));
  require(cudaEventRecord(event, second.get()));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  first.open();
  require(cudaStreamSynchronize(waiting));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  require(cudaEventDestroy(event));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
  require(cudaStreamDestroy(waiting));
}

TEST_F(Standin, records_events_only_on_streams_of_their_gpu) {
  require(cudaSetDevice(1));
  const cudaEvent_t event = make_event();
  require(cudaSetDevice(0));
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  require(cudaEventDestroy(event));
}

using StandinDeathTest = Standin;
TEST_F(StandinDeathTest, lets_no_host_code_touch_device_memory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const GpuData<int> data(0, {1});
        const volatile auto* touched = reinterpret_cast<const volatile int*>(data.bytes().data());
        std::exit(*touched);
      },
      "");
}

TEST_F(Standin, refuses_calls_that_nccl_refuses) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const ncclComm_t communicator = make_communicator(1, id, 0);
  ASSERT_EQ(settle(communicator), ncclSuccess);
  const GpuData<float> here(0, {1}), there(1, {1});
  float host = 0;
  const auto all_reduce_of = [&](void* data, std::size_t count, ncclComm_t chosen) {
    return ncclAllReduce(data, data, count, ncclFloat32, ncclSum, chosen, nullptr);
  };
  EXPECT_EQ(all_reduce_of(&host, 1, communicator), ncclInvalidArgument);
  EXPECT_EQ(all_reduce_of(there.bytes().data(), 1, communicator), ncclInvalidArgument);
  EXPECT_EQ(all_reduce_of(here.bytes().data(), 2, communicator), ncclInvalidArgument);
  EXPECT_EQ(all_reduce_of(here.bytes().data(), 1, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(all_reduce_of(here.bytes().data(), 1, communicator), ncclInProgress);
  EXPECT_EQ(settle(communicator), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(communicator), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(communicator), ncclInvalidArgument);
}

// NCCL would hang, or worse. Here at least one rank is told, and the operation ends by abort alone.
TEST_F(Standin, tells_ranks_that_are_in_different_operations) {
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const auto run_rank = [&id](int rank) {
    const ncclComm_t communicator = make_communicator(2, id, rank);
    EXPECT_EQ(settle(communicator), ncclSuccess);
    const GpuData<float> data(rank, {1, 2, 3});
    const cudaStream_t stream = make_stream();
    const cudaEvent_t end = make_event();
    const auto count = static_cast<std::size_t>(rank + 1);
    ncclAllReduce(data.bytes().data(), data.bytes().data(), count, ncclFloat32, ncclSum, communicator,
                  stream);
    settle(communicator);
    require(cudaEventRecord(end, stream));
    ncclResult_t state = ncclSuccess;
    while (state == ncclSuccess) {
      ncclCommGetAsyncError(communicator, &state);
      std::this_thread::yield();
    }
    EXPECT_THAT(state, testing::AnyOf(ncclInvalidUsage, ncclRemoteError));
    EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
    EXPECT_EQ(ncclCommAbort(communicator), ncclSuccess);
    require(cudaStreamSynchronize(stream));
    require(cudaStreamDestroy(stream));
    require(cudaEventDestroy(end));
  };
  std::thread other(run_rank, 1);
  run_rank(0);
  other.join();
}

TEST_F(Standin, has_no_gpu_unless_told) {
  unsetenv("GRADWIRE_STANDIN_DEVICES");
  int count = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
}

}  // namespace
}  // namespace gradwire
