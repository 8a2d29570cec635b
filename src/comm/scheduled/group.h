// For tests: the transports on which scheduled collectives are tried.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "comm/call_fixture.h"
#include "net/shm/shm_transport.h"
#include "net/tcp/tcp_transport.h"

namespace gradwire {

struct Ground {
  std::string name;
  std::function<std::unique_ptr<Transport>(const World&)> make;
};

inline void PrintTo(const Ground& ground, std::ostream* out) { *out << ground.name; }

inline std::vector<Ground> grounds() {
  return {{"shm", [](const World& world) { return make_shm_transport(world); }},
          {"tcp", [](const World& world) { return make_tcp_transport(world); }}};
}

}  // namespace gradwire
