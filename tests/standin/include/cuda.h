// STAND-IN, not NVIDIA's file. The one question that Gradwire asks the CUDA driver.
#pragma once

extern "C" {

// Whether the process uses the device: *active is 1 from the first runtime call that needs it on.
int cuDevicePrimaryCtxGetState(int dev, unsigned int* flags, int* active);

}  // extern "C"
