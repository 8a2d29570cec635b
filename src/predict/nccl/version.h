// Which NCCL a machine runs: it decides how far GPUs go straight and how rings are laid (`makers` in presets/cpus.yaml). Where
// nobody says it, one is taken, and what another would do is looked at. Versions as 223 for 2.23.
#pragma once

#include <optional>

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

// These settings where NCCL is of that version.
NcclSettings with_version(NcclSettings, int version);

// What is allowed has a price on the machine's links. Where it has none, ring or tree is taken.
bool can_obey(const Machine&, const NcclSettings&, Collective);

}  // namespace gradwire
