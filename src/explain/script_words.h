// What the rules about scripts share. For those rules alone.
#pragma once

#include <initializer_list>
#include <string_view>

#include "explain/case_file.h"

namespace gradwire {

Finding script_finding(const char* rule, Severity severity, const ScriptFile& script, const ScriptLine& line);
bool holds_any(std::string_view text, std::initializer_list<std::string_view> parts);
bool distributes(const ScriptFile&);  // with DistributedDataParallel
bool uses_gpus(const ScriptFile&);

// On which GPU each rank computes.
void add_device_findings(const ScriptFile&, std::vector<Finding>& findings);
// Variables that it sets for NCCL, and how a job gives its processes GPUs.
void add_launch_findings(const ScriptFile&, Diagnosis&);

}  // namespace gradwire
