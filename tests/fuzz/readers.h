// Every reader of bytes that others wrote, with samples of what it reads: for libFuzzer (fuzz.cpp, tools/fuzz) and for
// mutations of the samples (mutate.cpp).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct Reader {
  std::string name;
  // Throws ConfigError where the bytes are not right, and nothing else ever.
  std::function<void(std::string_view)> read;
  std::vector<std::string> samples = {};  // that are right
};

std::vector<Reader> readers_of_runs();      // what a training leaves: traces, logs, dumps
std::vector<Reader> readers_of_cases();     // the same, and what is found in it
std::vector<Reader> readers_of_machines();  // machines, reports of tools, models, what was measured
std::vector<Reader> readers_of_our_own();   // what Gradwire writes, and may get back changed

inline std::vector<Reader> all_readers() {
  std::vector<Reader> all;
  for (const auto& some :
       {readers_of_runs(), readers_of_cases(), readers_of_machines(), readers_of_our_own()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace gradwire
