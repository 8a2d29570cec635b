// Two ranks on this machine add their numbers: start them, make a communicator, call a collective.
//
//   build/examples/hello_ranks
#include <gradwire.h>

#include <cstdio>

int main() {
  gradwire::spawn(2, [](const gradwire::World& world) {
    const auto communicator =
        gradwire::make_communicator(world);  // shared memory here, shm+tcp over several hosts
    const gradwire::Memory memory = communicator->allocate(1000 * sizeof(float));
    for (float& value : memory.as<float>()) value = static_cast<float>(world.rank + 1);

    communicator->run(gradwire::all_reduce(memory.bytes(), gradwire::DType::f32));

    std::printf("rank %d of %d: 1 + 2 = %g by %s\n", world.rank, world.size, memory.as<float>()[0],
                communicator->name().c_str());
    if (memory.as<float>()[0] != 3) throw gradwire::Error("that is wrong");
  });
}
