// Which NCCL a machine runs: it decides how far GPUs go straight and how rings are laid (`makers` in presets/cpus.yaml). Where
// nobody says it, one is taken, and what another would do is looked at. Versions as 223 for 2.23.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/nccl/settings.h"
#include "topo/machine.h"

namespace gradwire {

// As the settings say, else the machine's file, else what PyTorch brings today.
int version_of(const Machine&, const NcclSettings&);

// What a published figure counts as that does not state it: 2.18; for GPUs from SM100 on the first that knows them, 2.25.
int version_of_record(const Machine&);

// These settings with what the machine's file says of its version.
NcclSettings settings_on(const Machine&, NcclSettings);

// What is taken, and since which version all-reduces take the time that they take with it.
struct OtherVersion {
  int taken = 0, since = 0;
  int before() const { return since - 1; }
};

// Nothing where the version is stated, where links were measured, or where older ones do as the one that is taken.
std::optional<OtherVersion> find_other_version(const Machine&, const NcclSettings&);

// "NCCL is taken as 2.28, before 2.23", to be ended by what was so then.
std::string to_words(const OtherVersion&);

// What a reader of a price must know of NCCL there: what the environment tells it, what of that nothing can follow, and
// which version it is taken for, where that matters.
std::optional<std::string> find_unmet_note(const Machine&, const NcclSettings&,
                                           Collective = Collective::all_reduce);
std::optional<std::string> find_version_note(const Machine&, const NcclSettings&);
std::vector<std::string> nccl_notes(const Machine&, const NcclSettings&, Collective = Collective::all_reduce);

}  // namespace gradwire
