#include "measure/rank.h"

#include <fmt/format.h>

#include "base/cpu.h"
#include "comm/make.h"
#include "measure/limit.h"
#include "measure/sampler.h"

namespace gradwire {
namespace {

constexpr Seconds kLongestWait = 24 * 3600;

// As mpirun does by default. Not for libraries with threads of their own, which need the other cores.
void bind_where_it_helps(const World& world, const std::string& contestant) {
  const bool single_threaded = contestant == kLimit || works_in_caller(without_memory(contestant));
  if (single_threaded && world.local_size <= usable_cores()) bind_to_core(world.local_rank);
}

// False when told to stop.
bool obey(const World& world, Sampler& sampler, int number) {
  const std::string order = world.store->get(order_key(number), Deadline::after(kLongestWait));
  if (order == kStop) return false;
  const SampleResult result = sampler.take(nlohmann::json::parse(order).get<SampleRequest>());
  world.store->set(answer_key(number, sampler.rank()), nlohmann::json(result).dump());
  return result.error.empty();
}

}  // namespace

std::string order_key(int number) { return fmt::format("bench/order/{}", number); }
std::string answer_key(int number, Rank rank) { return fmt::format("bench/answer/{}/{}", number, rank); }

int run_bench_rank(const World& world, const std::string& contestant) {
  bind_where_it_helps(world, contestant);
  Sampler sampler(world, contestant);
  int number = 0;
  while (obey(world, sampler, number)) ++number;
  return 0;
}

}  // namespace gradwire
