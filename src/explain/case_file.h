// All that is known of a run and its machine, and what follows from it. A value, built from what was read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/analysis.h"
#include "explain/collectives.h"
#include "explain/finding.h"
#include "import/read_all.h"
#include "topo/import/matrix.h"

namespace gradwire {

struct CaseFile {
  Gathered files;
  std::optional<RunAnalysis> analysis;
  std::optional<RecordedCalls> nccl_calls;
  std::optional<Machine> machine;         // as it is stated: by --on, or by a file that describes it
  std::optional<Machine> logged_machine;  // else what logs show of it: good for the rates to expect alone
  const Machine* find_rated() const {
    return machine ? &*machine : logged_machine ? &*logged_machine : nullptr;
  }
};

// The analysis too, if there are traces. `on` is a machine's name, or empty: what a file describes is taken then, with
// the GPU that a trace names.
CaseFile make_case(Gathered files, const std::string& on);

// What logs of NCCL show of a machine whose GPU is known: GPUs of a node and how they are joined; more nodes where also the
// rate of their network is said. Nothing where they do not tell how GPUs are joined.
std::optional<Machine> find_logged_machine(const CaseFile&);

// Where the ranks of a run of that many are, by its logs; 0 is any. Nothing is known where the logs are of another run.
NodesOfRun nodes_in_logs(const std::vector<NcclLog>&, int world);

enum class Answered { yes, no, unknown };
std::string_view to_string(Answered);

struct NvlinkAnswer {
  Answered present = Answered::unknown, used = Answered::unknown;
  std::string why;  // one sentence for both
};

struct Diagnosis {
  std::vector<Finding> findings;  // worst first
  std::vector<Finding> hints;     // what experience suggests and the evidence does not prove
  NvlinkAnswer nvlink;
  std::vector<std::string> looked_at;   // "2 logs of NCCL", "the topology matrix"
  std::vector<std::string> left_out;    // files that could not be used, and why
  std::string no_gpu;                   // see Gathered
  std::vector<std::string> notes = {};  // what is wrong with files that were used all the same
};

Diagnosis diagnose(const CaseFile&);

// The parts of it, each a file of rules. They add to what is there.
void add_failure_findings(const CaseFile&, Diagnosis&);
void add_log_findings(const CaseFile&, Diagnosis&);
void add_nvlink_findings(const CaseFile&, Diagnosis&);
void add_machine_findings(const CaseFile&, Diagnosis&);
void add_sweep_findings(const CaseFile&, Diagnosis&);
void add_process_findings(const CaseFile&, Diagnosis&);
void add_trace_findings(const CaseFile&, Diagnosis&);
void add_script_findings(const CaseFile&, Diagnosis&);
void add_flight_findings(const CaseFile&, Diagnosis&);
void add_stack_findings(const CaseFile&, Diagnosis&);
void add_watch_findings(const CaseFile&, Diagnosis&);
void add_loop_findings(const CaseFile&, Diagnosis&);
NvlinkAnswer answer_nvlink(const CaseFile&);

// What all of the findings together say: why GPUs talk through host memory, and what each costs beside the others.
void explain_host_memory(const CaseFile&, std::vector<Finding>&);
void share_costs(const CaseFile&, std::vector<Finding>&);

std::string short_name(const std::string& file);                                       // without its folders
std::string line_of_file(const std::string& file, int line, const std::string& text);  // "run.log:17: ..."

bool has_nvlink(const TopoMatrix&);    // between any two GPUs
bool all_nvlinked(const TopoMatrix&);  // between every two
bool is_nvlinked(const Machine&);

}  // namespace gradwire
