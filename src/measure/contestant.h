// One side of a benchmark: a group of rank processes running one backend, which takes samples on demand.
// Between samples its ranks sleep. A resource; the destructor ends its processes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "measure/sample.h"
#include "net/world.h"

namespace gradwire {

class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual const std::string& name() const = 0;
  // The slowest rank's time, a rank's mean processor time, and everybody's wrong elements. Throws Error with
  // what a rank said when it failed.
  virtual SampleResult sample(const SampleRequest&) = 0;
};

struct ContestantOptions {
  int ranks = 2;
  Seconds timeout = 60;               // of every wait in a rank, and for an answer
  std::string interface;              // where network backends listen
  std::filesystem::path folder = {};  // of the caller's, for what MPI leaves lying about
};

// A backend of ours, or of MPI through its own mpirun:
//   shm tcp gloo auto nccl shm+tcp ...      as make_communicator takes them; with ":user" behind it
//                                           for ordinary memory
//   mpi, mpi:VARIANT, mpich, mpich:VARIANT  started by mpirun; variants set what the implementation
//                                           is known to be faster with (contestant_mpi.cpp)
//   limit                                   the machine's own limit (limit.h)
std::unique_ptr<Contestant> start_contestant(const std::string& name, const ContestantOptions& options);

// `gradwire bench` as the ranks of a job that something else started, on one host or many: under `gradwire
// run`, mpirun, srun or torchrun every process is one rank, as in nccl-tests. Rank 0 measures and speaks, the
// others follow.

// On rank 0: what measure() samples, each with all ranks of the world. All ranks make them from the same
// names. They borrow `world`; the others are sent home with the last of them.
std::vector<std::unique_ptr<Contestant>> job_contestants(const World& world,
                                                         const std::vector<std::string>& names);

// On all other ranks: takes samples until rank 0 has enough. Throws PeerLost when that is gone, Timeout when it gives no
// orders for twice the world's timeout.
void follow_job(const World& world, const std::vector<std::string>& names);

}  // namespace gradwire
