// What the processor offers to code that waits or divides work. Functions of no state.
#pragma once

#include <vector>

// On one function: may use AVX2, for code that runs only where it is known to be there.
#if defined(__x86_64__)
#define GRADWIRE_TARGET_AVX2 __attribute__((target("avx2")))
#else
#define GRADWIRE_TARGET_AVX2
#endif

namespace gradwire {

// The cores this process may run on (its affinity mask), and how many they are: at least 1.
std::vector<int> usable_core_list();
int usable_cores();

// Keeps this thread, and those it makes from now on, on the index-th of those cores, counted around.
void bind_to_core(int index);

// Tells the core that this is a waiting loop: a few tens of nanoseconds in which its twin may run faster.
inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace gradwire
