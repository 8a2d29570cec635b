// The plans of past calls, since making one costs more than running a small call. A training program has few
// kinds of calls; one that varies them without end finds the least recently used forgotten. One thread.
#pragma once

#include <list>

#include "sched/choose.h"
#include "sched/run.h"

namespace gradwire {

class Plans {
 public:
  Plans(Rank me, std::size_t kept = 64) : me_(me), most_(kept) {}

  // Of this rank, for problems that differ in `bytes` alone once `choice` is made. Stays until the next call.
  const Plan& get(const Problem& problem, const Choice& choice);
  std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    Collective kind;
    Choice choice;
    Rank root;
    Plan plan;
  };
  const Rank me_;
  const std::size_t most_;
  std::list<Kept> kept_;  // the last used first
};

}  // namespace gradwire
