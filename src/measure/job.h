// `gradwire bench` as the ranks of a job that something else started, on one host or many: under `gradwire
// run`, mpirun, srun or torchrun every process is one rank, as in nccl-tests. Rank 0 measures and speaks, the
// others follow.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/contestant.h"
#include "net/world.h"

namespace gradwire {

// On rank 0: what measure() samples, each with all ranks of the world. All ranks make them from the same
// names. They borrow `world`; the others are sent home with the last of them.
std::vector<std::unique_ptr<Contestant>> job_contestants(const World& world,
                                                         const std::vector<std::string>& names);

// On all other ranks: takes samples until rank 0 has enough. Throws PeerLost when that is gone.
void follow_job(const World& world, const std::vector<std::string>& names);

}  // namespace gradwire
