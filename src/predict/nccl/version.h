// Which NCCL a machine runs: it decides how far GPUs go straight and how rings are laid (`makers` in presets/cpus.yaml). Where
// nobody says it, one is taken, and what another would do is looked at. Versions as 223 for 2.23.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/nccl/settings.h"
#include "topo/machine.h"

namespace gradwire {

// As the settings say, else the machine's file, else what is usual in measured records; for GPUs from SM100 on the first
// that knows them, 2.25.
int version_of(const Machine&, const NcclSettings&);

// These settings with what the machine's file says of its version.
NcclSettings settings_on(const Machine&, NcclSettings);

// What people run today, and the first version whose all-reduces take another time than that which is taken.
struct OtherVersion {
  int today = 0, since = 0;
};

// Nothing where the version is stated, where links were measured, or where today's does as the one that is taken.
std::optional<OtherVersion> find_other_version(const Machine&, const NcclSettings&);

// "NCCL is taken as older than 2.23, with 2.26", to be ended by what is so then.
std::string to_words(const OtherVersion&);

// What a reader of a price must know of NCCL there: what the environment tells it, what of that nothing can follow, and
// which version it is taken for, where that matters.
std::optional<std::string> find_unmet_note(const Machine&, const NcclSettings&,
                                           Collective = Collective::all_reduce);
std::optional<std::string> find_version_note(const Machine&, const NcclSettings&);
std::vector<std::string> nccl_notes(const Machine&, const NcclSettings&, Collective = Collective::all_reduce);

}  // namespace gradwire
