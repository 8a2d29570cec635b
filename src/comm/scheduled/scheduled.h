// Collectives made of our own schedules on any Transport: what `tcp` is, and what every transport can be.
//
// Plans and scratch memory are kept between calls, since making them costs more than a small call. Reductions
// give the same bits on every rank, whatever the algorithm (sched/verify.h proves that); `avg` is the sum,
// divided where it is complete.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/collectives.h"
#include "net/transport.h"
#include "sched/choose.h"
#include "sched/run.h"

namespace gradwire {

// The same on every rank, but for `trace`.
struct ScheduledOptions {
  std::string name = "scheduled";
  Seconds timeout = 300;                    // how long nothing may arrive
  std::vector<int> hosts = {};              // hosts[r] is the host of rank r; empty: all links are alike
  std::optional<Algorithm> algorithm = {};  // for the collectives it can do, instead of the best
  Trace* trace = nullptr;                   // every call appends its steps to it
};

std::unique_ptr<Collectives> make_scheduled(std::unique_ptr<Transport> transport,
                                            ScheduledOptions options = {});

}  // namespace gradwire
