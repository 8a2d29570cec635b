// What a reader of a price must know of NCCL there: what the environment tells it, what of that nothing can follow, and which
// version it is taken for, where that matters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/nccl/version.h"

namespace gradwire {

// Absent when all is as NCCL's own.
std::optional<std::string> find_environment_note(const NcclSettings&);

std::optional<std::string> find_unmet_note(const Machine&, const NcclSettings&,
                                           Collective = Collective::all_reduce);
std::optional<std::string> find_version_note(const Machine&, const NcclSettings&);

// Why data goes through host memory where GPUs could reach each other over PCIe: NCCL's own choice, that nobody has told it.
std::optional<std::string> find_host_memory_note(const Machine&, const NcclSettings&);

std::vector<std::string> nccl_notes(const Machine&, const NcclSettings&, Collective = Collective::all_reduce);

// "NCCL is taken as 2.28, before 2.23", to be ended by what was so then.
std::string to_words(const OtherVersion&);

}  // namespace gradwire
