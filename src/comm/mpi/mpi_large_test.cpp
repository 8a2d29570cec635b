// A program for mpirun: calls of more bytes than one call of MPI can count. Prints what was wrong.
#include <fmt/format.h>

#include "comm/mpi/mpi.h"
#include "net/rendezvous/environment.h"

namespace {

using namespace gradwire;

// What rank `from` gives, at place `index` of its buffer: small whole numbers, so that sums are exact.
float value(std::size_t index, Rank from) {
  return static_cast<float>(index % 1021 + 3 * static_cast<unsigned>(from));
}

class LargeCheck {
 public:
  explicit LargeCheck(const World& world) : world_(world), group_(make_mpi(world)) {}

  // `in` and `out` are elements; expected(i) is what must be at place i of this rank's output.
  template <typename Expected>
  void run(Collective kind, std::size_t in, std::size_t out, const Expected& expected) {
    const Memory source = group_->allocate(in * sizeof(float)),
                 result = group_->allocate(out * sizeof(float));
    const Call call{.kind = kind, .in = source.bytes(), .out = result.bytes(), .dtype = DType::f32};
    for (std::size_t i = 0; i < in; ++i) source.as<float>()[i] = value(i, world_.rank);
    group_->run(call, check_call(call, world_.size, sequence_++));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out; ++i) wrong += result.as<float>()[i] != expected(i);
    if (wrong == 0) return;
    fmt::print(stderr, "rank {}: {} of {} bytes: {} of {} elements are wrong\n", world_.rank, name_of(kind),
               call.in.size(), wrong, out);
    all_right_ = false;
  }
  bool all_right() const { return all_right_; }

 private:
  const World world_;
  const std::unique_ptr<Collectives> group_;
  std::uint64_t sequence_ = 0;
  bool all_right_ = true;
};

}  // namespace

int main() {
  const Placement placement = read_placement(process_environment());
  World world;
  world.rank = placement.rank;
  world.size = placement.size;
  const auto ranks = static_cast<std::size_t>(world.size), me = static_cast<std::size_t>(world.rank);
  const std::size_t part = (std::size_t{1} << 29) / ranks + 12345, whole = part * ranks;  // over 2^31 bytes
  const auto sum = [&](std::size_t index) {
    float total = 0;
    for (Rank rank = 0; rank < world.size; ++rank) total += value(index, rank);
    return total;
  };
  LargeCheck check(world);
  check.run(Collective::all_reduce, whole, whole, sum);
  check.run(Collective::reduce_scatter, whole, part, [&](std::size_t i) { return sum(me * part + i); });
  check.run(Collective::all_gather, part, whole,
            [&](std::size_t i) { return value(i % part, static_cast<Rank>(i / part)); });
  check.run(Collective::all_to_all, whole, whole,
            [&](std::size_t i) { return value(me * part + i % part, static_cast<Rank>(i / part)); });
  return check.all_right() ? 0 : 1;
}
