// libFuzzer's way into a reader; see tools/fuzz.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "import/read_profile.h"

namespace {

void read_all_of(std::string_view text) {
  gradwire::ByteSource source(text);
  gradwire::read_profile(source, "fuzz");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    read_all_of({reinterpret_cast<const char*>(bytes), size});
  } catch (const gradwire::ConfigError&) {  // which is what bad input gets
  }
  return 0;
}
