// What a rank process of `gradwire bench` does: joins its contestant's group, then takes samples as it is
// told, until it is told to stop. It waits for orders in a blocking read, so that groups that are not being
// measured cost nothing.
#pragma once

#include <string>

#include "net/world.h"

namespace gradwire {

// Keys in the contestant's space of the store.
std::string order_key(int number);              // a SampleRequest, or "stop"
std::string answer_key(int number, Rank rank);  // a SampleResult

// `contestant` as Sampler takes it. Returns the exit code.
int run_bench_rank(const World& world, const std::string& contestant);

}  // namespace gradwire
