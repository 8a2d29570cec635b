// What the rules about scripts share. For those rules alone.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "explain/case_file.h"

namespace gradwire {

struct SaidOfScript {
  const char* rule;
  Severity severity;
  std::string what;
  const char* fix;
};
// To findings, or to hints. A script is read and not run: what is said of it is likely at most.
void add_at(const ScriptFile&, const ScriptLine&, SaidOfScript, std::vector<Finding>& list);
bool holds_any(std::string_view text, std::initializer_list<std::string_view> parts);
// The lines below an if or a loop that are indented more; of a long block its beginning.
std::span<const ScriptLine> block_below(const ScriptFile&, std::size_t head);
bool distributes(const ScriptFile&);  // with DistributedDataParallel
bool uses_gpus(const ScriptFile&);

// Collectives that some ranks never come to.
void check_guarded_calls(const ScriptFile&, std::vector<Finding>& findings);
// On which GPU each rank computes.
void add_device_findings(const ScriptFile&, std::vector<Finding>& findings);
std::map<std::string, SaidInLog> settings_in(const ScriptFile&);  // variables of NCCL, CUDA and PyTorch
// These, and how a job gives its processes GPUs; logs know how many nodes there were.
void add_launch_findings(const ScriptFile&, const std::vector<NcclLog>& logs, Diagnosis&);

}  // namespace gradwire
