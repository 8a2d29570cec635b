#include "import/trouble.h"

#include <algorithm>
#include <iterator>

namespace gradwire {
namespace {

constexpr std::string_view kSigns[] = {"Duplicate GPU detected",
                                       "system not yet initialized",
                                       "invalid device ordinal",
                                       "is free. Process ",  // memory that is full, and who has it
                                       "memory in use. Process ",
                                       "Watchdog caught collective operation timeout",
                                       "watchdog got stuck",
                                       "failed to pass monitoredBarrier",
                                       "Detected mismatch between collectives on ranks",
                                       "ncclSystemError",
                                       "ncclInternalError",
                                       "ncclUnhandledCudaError",
                                       "unhandled cuda error",
                                       "unhandled system error",
                                       "out of shared memory",
                                       "shared memory object </torch_",
                                       "ncclRemoteError",
                                       "ncclInvalidUsage",
                                       "internal error - please report this issue to the NCCL",
                                       "Expected to have finished reduction in the prior iteration",
                                       "Expected to mark a variable ready only once",
                                       "did not find any unused parameters in the forward pass",
                                       "Grad strides do not match bucket view strides",
                                       "to perform barrier as devices used by this process are currently"};

}  // namespace

bool tells_of_trouble(std::string_view text) {
  return std::any_of(std::begin(kSigns), std::end(kSigns),
                     [&](auto sign) { return text.find(sign) != std::string_view::npos; });
}

}  // namespace gradwire
