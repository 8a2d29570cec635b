// Gradwire's words for a collective in NCCL's: which function, on which type, with which operation.
#pragma once

#include <nccl.h>

#include "comm/communicator.h"

namespace gradwire {

// Gives a call, which is not a barrier and has its messages spelt out, to NCCL. All of it happens inside: the caller sees to it that the
// communicator is at rest.
ncclResult_t enqueue(const Call& call, ncclComm_t communicator, cudaStream_t stream);

}  // namespace gradwire
