// libFuzzer's way into a reader; see tools/fuzz.
#include "import/fuzz/fuzz.h"

#include "import/profile.h"

void read_all_of(std::string_view text) {
  gradwire::ByteSource source(text);
  gradwire::read_profile(source, "fuzz");
}
