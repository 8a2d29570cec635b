// libFuzzer's way into the reader that the variable GRADWIRE_READER names: see tools/fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "fuzz/readers.h"

namespace {

const gradwire::Reader& chosen_reader() {
  static const auto all = gradwire::all_readers();
  const char* const name = std::getenv("GRADWIRE_READER");
  for (const auto& reader : all)
    if (name != nullptr && reader.name == name) return reader;
  std::fputs("GRADWIRE_READER names none of the readers:", stderr);
  for (const auto& reader : all) std::fprintf(stderr, " %s", reader.name.c_str());
  std::fputs("\n", stderr);
  std::exit(2);
}

}  // namespace

// libFuzzer calls it by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auto& reader = chosen_reader();
  try {
    reader.read({reinterpret_cast<const char*>(bytes), size});
  } catch (const gradwire::ConfigError&) {  // which is what bad input gets
  }
  return 0;
}
