// A rank for the tests of `gradwire run`: joins, meets all others, and then does what its arguments say.
//   meet        leaves
//   die R       rank R is killed by SIGKILL, the others wait for a word from it
//   die-late R  rank R is killed when it has left
//   stop-late R rank R is stopped before it leaves
//   stop-last R rank R is stopped when it has left
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "net/rendezvous/rendezvous.h"

namespace {

void meet(const gradwire::World& world) {
  world.store->set(fmt::format("here/{}", world.rank), "yes");
  for (gradwire::Rank rank = 0; rank < world.size; ++rank)
    get_from(*world.store, rank, fmt::format("here/{}", rank), gradwire::Deadline::after(world.timeout));
}

void run(std::string_view what, gradwire::Rank who) {
  const auto world = gradwire::join();
  meet(world);
  if (what == "die" && world.rank == who) std::raise(SIGKILL);
  if (what == "die") get_from(*world.store, who, "last words", gradwire::Deadline::after(world.timeout));
  fmt::print("met {} of {}, locally {} of {}, listens on {}\n", world.rank, world.size, world.local_rank,
             world.local_size, world.interface.empty() ? "loopback" : world.interface);
  if (what == "stop-late" && world.rank == who) std::raise(SIGSTOP);
  leave(world);
  if (what == "die-late" && world.rank == who) std::raise(SIGKILL);
  if (what == "stop-last" && world.rank == who) std::raise(SIGSTOP);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count > 1 ? arguments[1] : "meet", count > 2 ? std::atoi(arguments[2]) : 0);
    return 0;
  } catch (const gradwire::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
