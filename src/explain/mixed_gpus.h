// GPUs of different make in one run, or in one machine: the slowest sets the pace.
#pragma once

#include "explain/case_file.h"

namespace gradwire {

// Of a straggler: that its GPU is of another make than the others', where it is.
void blame_slower_gpu(const CaseFile&, Finding& finding);
void hint_at_mixed_gpus(const PciReport&, std::vector<Finding>& hints);

}  // namespace gradwire
