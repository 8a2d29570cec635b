// Runs a function as the ranks of a world, each in a process of its own on this host.
//
//   gradwire::spawn(2, [](const gradwire::World& world) { train(world); });
//
// Call it from a process with one thread, before anything made others; it hosts the store the ranks meet in
// and returns when all have ended well. When one fails the others are told to end (SIGTERM, and after the
// grace time SIGKILL), and an Error names the rank that failed first and how. One that does not end when the work of all is
// done, being stopped say, is ended after the timeout. Nothing is left running in any case.
//
// In a process that is a rank already, under `gradwire run`, mpirun, srun or torchrun, the function runs as that rank of
// that job instead, whatever number of ranks is given here.
#pragma once

#include <functional>

#include "net/world.h"

namespace gradwire {

struct SpawnOptions {
  Seconds timeout = 300;  // World::timeout of each rank
  Seconds grace = 5;      // from SIGTERM to SIGKILL
};

void spawn(int ranks, const std::function<void(const World&)>& function, const SpawnOptions& options = {});

}  // namespace gradwire
