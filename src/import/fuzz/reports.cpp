// libFuzzer's way into a reader; see tools/fuzz.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "import/environment.h"
#include "import/file_kind.h"
#include "import/machine_reports.h"
#include "import/nccl_tests.h"
#include "import/script.h"

namespace {

void read_all_of(std::string_view text) {
  gradwire::kind_of(text);
  gradwire::parse_nvlink_status(text, "fuzz");
  gradwire::parse_lspci(text, "fuzz");
  gradwire::parse_smi_query(text, "fuzz");
  gradwire::parse_nccl_tests(text, "fuzz");
  gradwire::parse_inspector(text, "fuzz");
  gradwire::parse_environment(text, "fuzz");
  gradwire::parse_script(text, "fuzz");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    read_all_of({reinterpret_cast<const char*>(bytes), size});
  } catch (const gradwire::ConfigError&) {  // which is what bad input gets
  }
  return 0;
}
