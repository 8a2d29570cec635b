#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace gradwire {

int usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // Fails on machines with more cores than the mask has bits; those have enough for anybody.
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace gradwire
