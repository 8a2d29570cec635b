#include "base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace gradwire {

std::vector<int> usable_core_list() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  // Fails on machines with more cores than the mask has bits.
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  const int last = known ? CPU_SETSIZE : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  for (int core = 0; core < last; ++core)
    if (!known || CPU_ISSET(core, &mask)) cores.push_back(core);
  return cores;
}

int usable_cores() { return static_cast<int>(usable_core_list().size()); }

void bind_to_core(int index) {
  const auto cores = usable_core_list();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cores[static_cast<std::size_t>(index) % cores.size()], &mask);
  sched_setaffinity(0, sizeof mask,
                    &mask);  // where it is not permitted the process stays free, which works too
}

}  // namespace gradwire
