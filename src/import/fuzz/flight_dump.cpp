// libFuzzer's way into a reader; see tools/fuzz.
#include "import/fuzz/fuzz.h"

#include "import/flight_recorder.h"

void read_all_of(std::string_view text) { gradwire::parse_flight_dump(text, "fuzz"); }
