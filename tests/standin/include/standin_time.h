// The time of the stand-in's streams. It is no clock's: a stream's time moves only by the work that says how long it takes,
// by waiting for an event, which is no earlier than that event, and by a collective, which ends on all ranks when the
// last one came plus what its bytes take. So tests know every moment to the nanosecond, on any machine.
#pragma once

#include "cuda_runtime_api.h"

extern "C" {

// Work on the stream that takes so long.
cudaError_t standinSpend(cudaStream_t stream, long long nanoseconds);

// The time of the stream whose work the calling thread does; a thread that is none has one of its own.
long long* standinRunningTime(void);

}  // extern "C"
