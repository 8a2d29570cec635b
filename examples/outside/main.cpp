// The smallest program that uses an installed Gradwire.
#include <gradwire.h>

#include <cstdio>
#include <vector>

int main() {
  gradwire::spawn(3, [](const gradwire::World& world) {
    std::vector<double> values(10, world.rank);
    gradwire::make_communicator(world)->run(
        gradwire::all_reduce(gradwire::bytes_of(values), gradwire::DType::f64, gradwire::Reduction::max));
    if (world.rank == 0) std::printf("the highest of %d ranks is %g\n", world.size, values[0]);
  });
}
