#include "import/fuzz/fuzz.h"

#include <cstddef>
#include <cstdint>

#include "base/error.h"

// libFuzzer calls it by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    read_all_of({reinterpret_cast<const char*>(bytes), size});
  } catch (const gradwire::ConfigError&) {  // which is what bad input gets
  }
  return 0;
}
