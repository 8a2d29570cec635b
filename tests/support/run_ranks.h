// Runs a function as several ranks and says what became of each, so that a test can assert on every rank's
// fate: run_threads() as threads of this process that share a MemoryStore, run_processes() as processes that
// meet through a file, with the store in rank 0.
//
// A rank may do anything a rank can do: throw, exit, raise(SIGKILL) or raise(SIGSTOP) at the point under
// test. No rank is ended because another failed. What is still running when the deadline passes counts as
// hung: a process is killed, a hung thread can only be ended with the whole test program, which says so.
// A rank that is stopped when all others have ended is killed, and counts as stopped.
//
// Expectations of GoogleTest work inside ranks; one that fails in a process makes that rank `failed`. Call
// run_processes() when this process has one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/outcome.h"
#include "net/world.h"

namespace gradwire {

using RankFunction = std::function<void(const World&)>;

struct RunOptions {
  Seconds deadline = 60;  // for the whole run
  Seconds timeout = 20;   // World::timeout of each rank
  // For processes: where they listen, and what each does before it joins, such as entering a namespace.
  std::string interface = {};
  std::function<void(Rank)> before_join = {};
};

std::vector<Outcome> run_threads(int ranks, const RankFunction&, const RunOptions& = {});
std::vector<Outcome> run_processes(int ranks, const RankFunction&, const RunOptions& = {});

// Makes the test fail for every rank that is not ok, saying what became of it.
void expect_all_ok(const std::vector<Outcome>&);

void PrintTo(const Outcome&, std::ostream*);

}  // namespace gradwire
