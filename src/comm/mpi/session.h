// MPI as the project uses it: initialised once, its errors as exceptions, our types and reductions as MPI's.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "base/collective.h"
#include "base/units.h"

namespace gradwire {

// What a communicator has of MPI, which is started by the first where the program has not. It ends with the process, which
// does not wait for the others longer than the timeout, nor at all where it has failed.
//
// Every communicator has a thread of its own, and a call that waits in one may need another to go on. So MPI is asked for
// MPI_THREAD_MULTIPLE; with less, ConfigError refuses a second communicator beside one that lives.
class MpiSession {
 public:
  explicit MpiSession(Seconds timeout);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

void check_mpi(int code, const char* operation);  // throws TransportError with MPI's words

MPI_Datatype mpi_type(DType);

// MPI's own operation where it does what ours does, else one made of our kernels: 16-bit floats, and the
// minimum and maximum of floats, which MPI leaves open for NaN. `avg` is a sum.
class MpiOperations {
 public:
  MpiOperations();
  ~MpiOperations();
  MpiOperations(const MpiOperations&) = delete;
  MpiOperations& operator=(const MpiOperations&) = delete;
  MPI_Op find(DType, Reduction) const;

 private:
  MPI_Op operations_[kDTypes][kReductions];
  std::vector<MPI_Op> made_;
};

}  // namespace gradwire
