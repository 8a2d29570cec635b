// Any mix of files in any order, and folders of them, read into what they are. Traces are read side by side,
// one thread a processor. Values out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "import/environment.h"
#include "import/file_kind.h"
#include "import/flight_recorder.h"
#include "import/link_types.h"
#include "import/machine_reports.h"
#include "import/nccl_log.h"
#include "import/nccl_records.h"
#include "import/nccl_tests.h"
#include "import/nvlink_traffic.h"
#include "import/profile.h"
#include "import/script.h"
#include "import/smi_table.h"
#include "import/stack_dump.h"
#include "import/watch_notes.h"
#include "topo/import/matrix.h"
#include "trace/timeline.h"

namespace gradwire {

struct NamedTimeline {
  std::string file;
  Timeline timeline;
};

struct MatrixReport {
  std::string file;
  TopoMatrix matrix;
};

struct ReadFile {
  std::string file;
  FileKind kind = FileKind::unknown;
  std::string problem;  // why it could not be used; empty: it was
};

struct Gathered {
  std::vector<ReadFile> files;  // all that were looked at
  std::vector<Profile> profiles;
  std::vector<NamedTimeline> timelines;
  std::vector<NcclLog> logs;
  std::vector<MatrixReport> matrices;
  std::vector<EnvironmentFile> environments;
  std::vector<NcclTestTable> tables;
  std::vector<NvlinkReport> nvlinks;
  std::vector<PeerReport> peers;
  std::vector<LinkTypes> link_types;
  std::vector<PciReport> pci;
  std::vector<SmiTable> process_tables;
  std::vector<ScriptFile> scripts;
  std::vector<FlightDump> dumps;
  std::vector<StackDump> stacks;
  std::vector<WatchNotes> notes;
  std::vector<NcclCalls> nccl_calls;
  std::vector<NvlinkTraffic> nvlink_traffic;
  std::vector<std::string> machines;  // files that describe one: nvidia-smi topo -m, NCCL's XML
  std::string no_gpu;  // of this machine, where it was looked at: that it has none, and how that is known
};

// A file that can't be used has its reason in `files`; one that does not exist throws ConfigError. In a folder,
// and in folders in it, files of no known kind are passed over. Traces are of one run: see keep_one_run().
Gathered read_all(const std::vector<std::string>& paths);

// Traces that name worlds of different sizes are of different runs: most of them, or the first, say which one is meant.
// The others are taken out, with the reason in `files`.
void keep_one_run(Gathered&);

// "left out: rank3.json: ...", for every file that could not be used.
std::vector<std::string> left_out_notes(const Gathered&);

}  // namespace gradwire
