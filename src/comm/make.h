// Communicators by name: what `--backend` takes.
//
//   shm               ranks of one host, shared memory
//   tcp               our own schedules over TCP
//   gloo[:ALGORITHM]  libgloo; ring (its default), bcube, halving_doubling, ring_chunked,
//                     classic_ring, classic_bcube
//   mpi               MPI, in a program started by mpirun: Open MPI or MPICH, whosever mpirun it was
//   nccl[:DEVICE]     NCCL on that CUDA device, by default the one of this rank's number on its host
//   shm+X             shm inside each host and X (tcp, gloo, mpi) between hosts
//   X:unchecked       gloo or mpi without comparing calls before making them: disagreeing ranks hang
//   auto              shm on one host, shm+tcp on several, tcp where every host has one rank
//
// The last calls of a communicator are recorded (flight_recorder.h), in files of the folder GRADWIRE_FLIGHT_DIR if that is
// set; NCCL keeps its own record.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "net/world.h"

namespace gradwire {

// Throws ConfigError for a name that is none of these, without trying whether it works here.
void check_backend(const std::string& backend);

// Of shm and tcp, also together: it has no threads of its own, so a rank that has it may be bound to a core.
bool works_in_caller(const std::string& backend);

// NCCL's: buffers of its calls lie on GPUs.
bool moves_gpu_memory(const std::string& backend);

// All ranks of the world call it with the same name.
std::unique_ptr<Communicator> make_communicator(const World& world, const std::string& backend = "auto");

}  // namespace gradwire
