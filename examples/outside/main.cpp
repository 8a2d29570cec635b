// The smallest program that uses an installed Gradwire: outside [BACKEND]
#include <gradwire.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::string backend = argc > 1 ? argv[1] : "auto";
  gradwire::spawn(3, [&](const gradwire::World& world) {
    std::vector<double> values(10, world.rank);
    const auto communicator = gradwire::make_communicator(world, backend);
    communicator->run(
        gradwire::all_reduce(gradwire::bytes_of(values), gradwire::DType::f64, gradwire::Reduction::max));
    if (world.rank == 0)
      std::printf("the highest of %d ranks is %g, by %s\n", world.size, values[0],
                  communicator->name().c_str());
  });
}
