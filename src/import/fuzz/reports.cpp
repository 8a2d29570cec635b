// libFuzzer's way into a reader; see tools/fuzz.
#include "import/fuzz/fuzz.h"

#include "import/environment.h"
#include "import/file_kind.h"
#include "import/machine_reports.h"
#include "import/nccl_tests.h"
#include "import/script.h"
#include "import/watch_notes.h"

void read_all_of(std::string_view text) {
  gradwire::kind_of(text);
  gradwire::parse_nvlink_status(text, "fuzz");
  gradwire::parse_lspci(text, "fuzz");
  gradwire::parse_smi_query(text, "fuzz");
  gradwire::parse_nccl_tests(text, "fuzz");
  gradwire::parse_inspector(text, "fuzz");
  gradwire::parse_environment(text, "fuzz");
  gradwire::parse_script(text, "fuzz");
  if (gradwire::kind_of(text) == gradwire::FileKind::watch_notes) gradwire::parse_watch_notes(text, "fuzz");
}
