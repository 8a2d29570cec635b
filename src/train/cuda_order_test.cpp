// The order of streams on the stand-in for CUDA and NCCL: gradients that are still in the making when their
// bucket leaves, and an optimizer that reads them while the host has long gone on.
#include "train/cuda_order.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "comm/nccl/nccl_fixture.h"
#include "standin_time.h"
#include "trace/breakdown.h"

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

// A step whose every moment is known, because the stand-in's streams keep time: forward 10 ms, backward 20 ms of which the
// first 12 make the gradients of bucket 0 and the rest those of bucket 1, an all-reduce of 1 ms a KiB, optimizer 5 ms.
// Rank 1 computes `late` longer before its backward.
struct TimedStep {
  static constexpr long long kMs = 1'000'000;
  static std::vector<Span> run(const World& world, long long late) {
    const auto nccl = make_nccl(world);
    const GpuData<float> first(world.rank, Floats(1024)), second(world.rank, Floats(1024));
    GatedStream stream(world.rank);
    const CurrentStream where = [&] { return stream.get(); };
    StreamCommunicator communicator(*nccl, where);
    StreamMarks marks(*nccl, where, std::make_shared<CudaClock>(world.rank, [] { return 100.0; }));
    Recorder recorder;
    marks.set_trace(&recorder, 60);
    recorder.set_step(3);
    const auto spend = [&](long long time) { require(standinSpend(stream.get(), time)); };
    {
      const Timed timed(&recorder, SpanKind::forward);
      spend(10 * kMs + (world.rank == 1 ? late : 0));
    }
    std::vector<std::shared_ptr<Work>> works;
    std::vector<LateTime> ready;
    const auto leave = [&](const GpuData<float>& bucket) {
      ready.push_back(marks.mark());
      works.push_back(communicator.start(all_reduce(bucket.bytes(), DType::f32)));
    };
    {
      const Timed timed(&recorder, SpanKind::backward);
      spend(12 * kMs);
      leave(first);
      spend(8 * kMs);
      leave(second);
      const Timed wait(&recorder, SpanKind::wait);
      for (const auto& work : works) work->wait();
    }
    for (int bucket = 0; bucket < 2; ++bucket)
      recorder.add_late({.kind = SpanKind::bucket,
                         .bucket = bucket,
                         .bytes = 4096,
                         .find = [work = works[bucket], made = ready[bucket]] {
                           const auto times = work->times();
                           const auto at = made();
                           return times && at
                                      ? std::optional(Recorder::BucketTimes{
                                            *at, on_steady_clock(times->begin), on_steady_clock(times->end)})
                                      : std::nullopt;
                         }});
    {
      const Timed timed(&recorder, SpanKind::optimizer);
      spend(5 * kMs);
    }
    EXPECT_TRUE(recorder.spans(world.rank).empty());  // the gate is shut: nothing has happened
    stream.open();
    marks.set_trace(nullptr, 60);
    EXPECT_EQ(recorder.dropped(), 0u);
    return recorder.spans(world.rank);
  }
};

TEST_F(CudaOrder, times_compute_and_collectives_where_the_gpu_was_and_not_where_the_host_was) {
  setenv("GRADWIRE_STANDIN_NS_PER_BYTE", "976.5625", 1);  // 4 KiB take 4 ms
  expect_all_ok(run_threads(2, [](const World& world) {
    Timeline timeline{.source = "stand-in", .ranks = 2, .spans = TimedStep::run(world, 3 * TimedStep::kMs)};
    const auto parts = step_parts(timeline);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].step, 3);
    // Bucket 0: made at 22 on rank 0 and at 25 on rank 1, so it ends at 29 on both. Bucket 1: made at 30 and 33, the side
    // stream is free, it ends at 37 on both. The GPU waits from 30 (33) to 37.
    const bool late = world.rank == 1;
    const auto ms = [](Seconds time) { return time * 1e3; };
    EXPECT_NEAR(ms(parts[0].parts.forward), late ? 13 : 10, 1e-3);
    EXPECT_NEAR(ms(parts[0].parts.backward), 20, 1e-3);
    EXPECT_NEAR(ms(parts[0].parts.comm_exposed), late ? 4 : 7, 1e-3);
    EXPECT_NEAR(ms(parts[0].parts.comm_overlapped), late ? 4 : 7, 1e-3);
    EXPECT_NEAR(ms(parts[0].parts.optimizer), 5, 1e-3);
    EXPECT_NEAR(ms(parts[0].parts.step()), 42, 1e-3);
  }));
  unsetenv("GRADWIRE_STANDIN_NS_PER_BYTE");
}

TEST_F(CudaOrder, has_no_times_where_no_recorder_is_set) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {1});
    const auto work = nccl->start(all_reduce(data.bytes(), DType::f32));
    work->wait();
    EXPECT_FALSE(work->times());
  }));
}

TEST_F(CudaOrder, refuses_a_communicator_of_host_memory) {
  struct Host final : Communicator {
    Rank rank() const override { return 0; }
    int size() const override { return 1; }
    std::string name() const override { return "shm"; }
    Carrier carrier() const override { return Carrier::shared_memory; }
    std::unique_ptr<Work> start(const Call&) override { return nullptr; }
    void run(const Call&) override {}
    Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
    void abort() override {}
  } host;
  EXPECT_THROW(StreamCommunicator(host, [] { return nullptr; }), ConfigError);
}

}  // namespace
}  // namespace gradwire
