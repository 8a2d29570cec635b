#include "comm/nccl/nccl.h"

#include <atomic>
#include <numeric>

#include "comm/nccl/nccl_fixture.h"

namespace gradwire {
namespace {

using NcclTest = NcclOnStandin;
using Floats = std::vector<float>;

Floats iota(float first, std::size_t count) {
  Floats values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_F(NcclTest, reduces_out_of_place_and_leaves_the_input_alone) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> in(world.rank, {1, 2, 3}), out(world.rank, {0, 0, 0});
    nccl->run({.kind = Collective::all_reduce, .in = in.bytes(), .out = out.bytes(), .dtype = DType::f32});
    EXPECT_EQ(out.read(), (Floats{2, 4, 6}));
    EXPECT_EQ(in.read(), (Floats{1, 2, 3}));
  }));
}

TEST_F(NcclTest, gives_every_rank_its_part_of_a_reduce_scatter) {
  expect_all_ok(run_threads(3, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> in(world.rank, iota(0, 6)), out(world.rank, {-1, -1});
    nccl->run(reduce_scatter(in.bytes(), out.bytes(), DType::f32));
    const auto first = static_cast<float>(world.rank * 2);
    EXPECT_EQ(out.read(), (Floats{3 * first, 3 * (first + 1)}));
  }));
}

TEST_F(NcclTest, gathers_also_in_place) {
  expect_all_ok(run_threads(3, [](const World& world) {
    const auto nccl = make_nccl(world);
    const auto mine = iota(static_cast<float>(world.rank * 2), 2);
    const GpuData<float> in(world.rank, mine), out(world.rank, Floats(6, -1));
    nccl->run(all_gather(in.bytes(), out.bytes(), DType::f32));
    EXPECT_EQ(out.read(), iota(0, 6));

    Floats own(6, -1);
    std::copy(mine.begin(), mine.end(), own.begin() + world.rank * 2);
    const GpuData<float> both(world.rank, own);
    nccl->run(all_gather(both.part(world.rank * 2, 2), both.bytes(), DType::f32));
    EXPECT_EQ(both.read(), iota(0, 6));
  }));
}

TEST_F(NcclTest, broadcasts_and_reduces_with_every_root) {
  expect_all_ok(run_threads(3, [](const World& world) {
    const auto nccl = make_nccl(world);
    const auto me = static_cast<float>(world.rank);
    for (Rank root = 0; root < world.size; ++root) {
      const GpuData<float> data(world.rank, {me, me});
      nccl->run(broadcast(data.bytes(), DType::f32, root));
      EXPECT_EQ(data.read(), Floats(2, static_cast<float>(root)));
      const GpuData<float> sum(world.rank, {me, 1});
      nccl->run(reduce(sum.bytes(), DType::f32, Reduction::sum, root));
      EXPECT_EQ(sum.read(), world.rank == root ? (Floats{3, 3}) : (Floats{me, 1}));
    }
  }));
}

TEST_F(NcclTest, exchanges_all_to_all) {
  expect_all_ok(run_threads(3, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> in(world.rank, iota(static_cast<float>(10 * world.rank), 3));
    const GpuData<float> out(world.rank, Floats(3, -1));
    nccl->run(all_to_all(in.bytes(), out.bytes(), DType::f32));
    const auto me = static_cast<float>(world.rank);
    EXPECT_EQ(out.read(), (Floats{me, 10 + me, 20 + me}));
  }));
}

TEST_F(NcclTest, lets_no_rank_leave_a_barrier_before_all_have_come) {
  std::atomic<int> came = 0;
  expect_all_ok(run_threads(4, [&came](const World& world) {
    const auto nccl = make_nccl(world);
    for (int round = 1; round <= 5; ++round) {
      ++came;
      nccl->run(barrier());
      EXPECT_GE(came, round * world.size);
    }
  }));
}

TEST_F(NcclTest, works_calls_off_in_the_order_they_were_started) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {1});
    std::vector<std::unique_ptr<Work>> works;
    for (int i = 0; i < 10; ++i) works.push_back(nccl->start(all_reduce(data.bytes(), DType::f32)));
    for (auto work = works.rbegin(); work != works.rend(); ++work) {
      (*work)->wait();
      EXPECT_TRUE((*work)->done());
    }
    EXPECT_EQ(data.read(), Floats{1024});
  }));
}

TEST_F(NcclTest, takes_calls_without_elements_and_data_at_any_offset) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    nccl->run(all_reduce({}, DType::f32));
    const GpuData<std::int8_t> data(world.rank, {9, 1, 2, 3, 9});
    nccl->run(all_reduce(data.part(1, 3), DType::i8));
    EXPECT_EQ(data.read(), (std::vector<std::int8_t>{9, 2, 4, 6, 9}));
  }));
}

TEST_F(NcclTest, serves_a_world_of_one_rank_without_a_store) {
  const auto nccl = make_nccl(World{});
  EXPECT_EQ(nccl->name(), "nccl");
  EXPECT_EQ(nccl->size(), 1);
  const GpuData<float> data(0, {1, 2});
  nccl->run(all_reduce(data.bytes(), DType::f32, Reduction::avg));
  nccl->run(barrier());
  EXPECT_EQ(data.read(), (Floats{1, 2}));
}

// One rank in place moves nothing, and memory that is not touched takes no room: only the counts are large.
TEST_F(NcclTest, takes_more_than_two_to_the_31_elements) {
  const auto nccl = make_nccl(World{});
  constexpr std::size_t kBytes = (std::size_t{1} << 31) + 4096;
  void* memory = nullptr;
  require(cudaMalloc(&memory, kBytes));
  nccl->run(all_reduce({static_cast<std::byte*>(memory), kBytes}, DType::u8));
  require(cudaFree(memory));
}

TEST_F(NcclTest, allocates_zeroed_memory_of_its_own_gpu_that_may_outlive_it) {
  World world;
  world.local_rank = 5;
  Memory memory;
  {
    const auto nccl = make_nccl(world);
    EXPECT_TRUE(nccl->allocate(0).bytes().empty());
    memory = nccl->allocate(100);
  }
  cudaPointerAttributes where{};
  require(cudaPointerGetAttributes(&where, memory.bytes().data()));
  EXPECT_EQ(where.type, cudaMemoryTypeDevice);
  EXPECT_EQ(where.device, 5);
  std::vector<char> values(100, 'x');
  require(cudaMemcpy(values.data(), memory.bytes().data(), 100, cudaMemcpyDeviceToHost));
  EXPECT_EQ(values, std::vector<char>(100, 0));
}

TEST_F(NcclTest, ends_in_order_and_then_refuses_calls) {
  expect_all_ok(run_threads(3, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {1});
    const auto work = nccl->start(all_reduce(data.bytes(), DType::f32));
    dynamic_cast<NcclCommunicator&>(*nccl).finish();
    work->wait();
    EXPECT_EQ(data.read(), Floats{3});
    EXPECT_THROW(nccl->run(barrier()), ConfigError);
  }));
}

TEST_F(NcclTest, keeps_communicators_of_one_world_apart_by_name) {
  expect_all_ok(run_threads(2, [](World world) {
    const auto first = make_nccl(world);
    world.name = "second";
    const auto second = make_nccl(world);
    const GpuData<float> data(world.rank, {1});
    first->run(all_reduce(data.bytes(), DType::f32));
    second->run(all_reduce(data.bytes(), DType::f32));
    EXPECT_EQ(data.read(), Floats{4});
  }));
}

}  // namespace
}  // namespace gradwire
