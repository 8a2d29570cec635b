// For tests: ranks as threads, each with scheduled collectives on a transport.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/scheduled/scheduled.h"
#include "net/shm/shm_transport.h"
#include "net/tcp/tcp_transport.h"
#include "support/run_ranks.h"

namespace gradwire {

using GroupWork = std::function<void(Collectives&)>;

// Where tests run: a name, and how a rank's transport is made.
struct Ground {
  std::string name;
  std::function<std::unique_ptr<Transport>(const World&)> make;

  std::vector<Outcome> run(int ranks, const ScheduledOptions& options, const GroupWork& work,
                           const RunOptions& how = {}) const {
    return run_threads(
        ranks, [&](const World& world) { work(*make_scheduled(make(world), options)); }, how);
  }
};

inline void PrintTo(const Ground& ground, std::ostream* out) { *out << ground.name; }

inline std::vector<Ground> grounds() {
  return {{"shm", [](const World& world) { return make_shm_transport(world); }},
          {"tcp", [](const World& world) { return make_tcp_transport(world); }}};
}

inline void run_call(Collectives& group, const Call& call, std::uint64_t sequence = 0) {
  group.run(call, check_call(call, group.size(), sequence));
}

}  // namespace gradwire
