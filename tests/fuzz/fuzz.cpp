// libFuzzer's way into the reader that the variable GRADWIRE_READER names: see tools/fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/error.h"
#include "fuzz/readers.h"

namespace {

const gradwire::Reader& find_chosen() {
  static const auto all = gradwire::all_readers();
  const char* const name = std::getenv("GRADWIRE_READER");
  for (const auto& reader : all)
    if (name != nullptr && reader.name == name) return reader;
  std::fputs("GRADWIRE_READER names none of the readers:", stderr);
  for (const auto& reader : all) std::fprintf(stderr, " %s", reader.name.c_str());
  std::fputs("\n", stderr);
  std::exit(2);
}

const gradwire::Reader& chosen_reader() {
  static const auto& reader = find_chosen();
  return reader;
}

}  // namespace

// libFuzzer calls these by their names.

// GRADWIRE_SEEDS=FOLDER: the reader's samples are written there, to begin with.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const folder = std::getenv("GRADWIRE_SEEDS");
  const auto& samples = chosen_reader().samples;
  for (std::size_t at = 0; folder != nullptr && at < samples.size(); ++at)
    std::ofstream(folder + ("/sample" + std::to_string(at)), std::ios::binary) << samples[at];
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    chosen_reader().read({reinterpret_cast<const char*>(bytes), size});
  } catch (const gradwire::ConfigError&) {  // which is what bad input gets
  }
  return 0;
}
