// Runs a function as several ranks and says what became of each, so that a test can assert on every rank's
// fate: run_threads() as threads of this process that share a MemoryStore, run_processes() as processes that
// rank 0's store brings together.
//
// A rank may do anything a rank can do: throw, exit, raise(SIGKILL) or raise(SIGSTOP) at the point under
// test. No rank is ended because another failed. What is still running when the deadline passes counts as
// hung: a process is killed, a hung thread can only be ended with the whole test program, which says so.
// A rank that is stopped when all others have ended is killed, and counts as stopped.
//
// Expectations of GoogleTest work inside ranks; one that fails in a process makes that rank `failed`. Call
// run_processes() from a process that has one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/world.h"

namespace gradwire {

struct Outcome {
  enum class Kind { ok, threw, failed, exited, killed, stopped, hung };

  Rank rank = 0;
  Kind kind = Kind::ok;
  std::string error;  // when it threw: "PeerLost", "Timeout", "std::exception" and so on
  std::string text;   // when it threw: what()
  Rank peer = -1;     // when it threw PeerLost: who was lost
  int code = 0;       // the exit code, or the signal that killed or stopped it

  bool ok() const { return kind == Kind::ok; }
};

std::string describe(const Outcome&);  // "rank 1 threw PeerLost: rank 0 is gone"
void PrintTo(const Outcome&, std::ostream*);

struct RunOptions {
  Seconds deadline = 60;  // for the whole run
  Seconds timeout = 20;   // World::timeout of each rank
};

using RankFunction = std::function<void(const World&)>;

std::vector<Outcome> run_threads(int ranks, const RankFunction&, const RunOptions& = {});

// Makes the test fail for every rank that is not ok, saying what became of it.
void expect_all_ok(const std::vector<Outcome>&);

}  // namespace gradwire
