// libFuzzer's way into a reader; see tools/fuzz.
#include "import/fuzz/fuzz.h"

#include "import/nccl_records.h"

void read_all_of(std::string_view text) { gradwire::parse_nccl_records(text, "fuzz"); }
