// The stand-in's streams and events. A stream is a queue with a thread of its own; work that nothing orders
// really runs at once, so a forgotten event wait gives wrong data. Every stream is as strict as a
// non-blocking one: none, not even the default stream, waits for another unless an event says so.
//
// An event stands for the moment of its last record; a stream that was told to wait for it waits for the
// record made before, whatever is recorded later. As documented, an event is recorded only on streams of its
// own device, and a stream of any device may wait for it.
#pragma once

#include "cuda_runtime_api.h"

namespace standin {

// Until all work given to the device's streams is done.
void wait_for_device(int device);

// The device of a stream; -1 for a handle that is none.
int device_of(cudaStream_t stream);

}  // namespace standin
