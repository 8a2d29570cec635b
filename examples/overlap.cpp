// Buckets leave as soon as they are ready, and the program goes on computing: what gradient averaging looks
// like.
//
//   build/gradwire run -n 2 -- build/examples/overlap           ranks from the launcher
//   mpirun -n 2 build/examples/overlap                          or from mpirun, torchrun, Slurm
#include <gradwire.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

constexpr int kBuckets = 8;
constexpr std::size_t kCount = 1 << 20;

// Stands for the backward pass that fills a bucket.
void compute(std::span<float> bucket, int step, gradwire::Rank rank) {
  for (std::size_t i = 0; i < bucket.size(); ++i)
    bucket[i] = std::sin(static_cast<float>(i % 1000)) + static_cast<float>(step + rank);
}

}  // namespace

int main() {
  const gradwire::World world = gradwire::join("env://");
  const auto communicator = gradwire::make_communicator(world, "auto");

  std::vector<gradwire::Memory> buckets;
  for (int i = 0; i < kBuckets; ++i) buckets.push_back(communicator->allocate(kCount * sizeof(float)));

  for (int step = 0; step < 3; ++step) {
    std::vector<std::unique_ptr<gradwire::Work>> works;
    for (int i = 0; i < kBuckets; ++i) {
      compute(buckets[i].as<float>(), step, world.rank);
      gradwire::Call call =
          gradwire::all_reduce(buckets[i].bytes(), gradwire::DType::f32, gradwire::Reduction::avg);
      call.tag = static_cast<std::uint32_t>(i + 1);  // ranks whose buckets come in another order get an error
      works.push_back(communicator->start(call));
    }
    for (const auto& work : works) work->wait();
    if (world.rank == 0) std::printf("step %d: first value %.3f\n", step, buckets[0].as<float>()[0]);
  }
  gradwire::leave(world);
}
