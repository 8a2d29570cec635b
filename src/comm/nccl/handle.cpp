#include "comm/nccl/handle.h"

#include <utility>

namespace gradwire {

ncclResult_t NcclHandle::begin(int size, const ncclUniqueId& id, Rank rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const Lock lock(mutex_);
  return ncclCommInitRankConfig(&communicator_, size, id, rank, &config);
}

ncclResult_t NcclHandle::call(const std::function<ncclResult_t(ncclComm_t)>& use) {
  const Lock lock(mutex_);
  return communicator_ == nullptr ? ncclInvalidUsage : use(communicator_);
}

ncclResult_t NcclHandle::state() {
  const Lock lock(mutex_);
  if (communicator_ == nullptr) return ncclSuccess;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
  return asked == ncclSuccess ? state : asked;
}

std::string NcclHandle::explain(ncclResult_t result) {
  const Lock lock(mutex_);
  const char* const text = ncclGetLastError(communicator_);
  const std::string detail = text == nullptr || *text == '\0' ? "" : fmt::format(": {}", text);
  return fmt::format("{} (NCCL error {}){}", ncclGetErrorString(result), static_cast<int>(result), detail);
}

void NcclHandle::abort() noexcept {
  const Lock lock(mutex_);
  if (ncclComm_t communicator = std::exchange(communicator_, nullptr)) ncclCommAbort(communicator);
}

void NcclHandle::destroy() {
  const Lock lock(mutex_);
  if (ncclComm_t communicator = std::exchange(communicator_, nullptr)) ncclCommDestroy(communicator);
}

}  // namespace gradwire
