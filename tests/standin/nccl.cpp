// The functions of include/nccl.h: arguments are checked and become operations of a communicator.
#include "nccl.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "communicator.h"
#include "devices.h"
#include "operation.h"
#include "streams.h"

namespace standin {
namespace {

// Every communicator that is alive, and the text of the last error.
struct Process {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<ncclComm>> communicators;  // guarded by mutex, as is the next
  std::string last_error;
};

Process& process() {
  static Process all;
  return all;
}

std::shared_ptr<ncclComm> find(ncclComm_t handle) {
  const std::lock_guard lock(process().mutex);
  const auto found = process().communicators.find(handle);
  return found == process().communicators.end() ? nullptr : found->second;
}

std::shared_ptr<ncclComm> take(ncclComm_t handle) {
  const std::lock_guard lock(process().mutex);
  auto node = process().communicators.extract(handle);
  return node ? std::move(node.mapped()) : nullptr;
}

// What this thread has collected since ncclGroupStart.
struct Group {
  int depth = 0;
  std::vector<std::pair<std::shared_ptr<ncclComm>, Operation>> operations;
};
thread_local Group t_group;

// A buffer of `bytes` that the communicator's GPU can reach.
bool is_usable(const void* pointer, std::size_t bytes, int device) {
  const auto place = find_place(pointer);
  return bytes == 0 || (place && place->device == device && place->bytes_left >= bytes);
}

ncclResult_t run_group() {
  std::map<std::shared_ptr<ncclComm>, std::vector<Operation>> launches;
  for (auto& [communicator, operation] : t_group.operations) {
    auto& list = launches[communicator];
    const bool fuses = operation.kind == Kind::group && !list.empty() && list.back().kind == Kind::group &&
                       list.back().stream == operation.stream;
    if (fuses)
      list.back().points.push_back(operation.points.front());
    else
      list.push_back(std::move(operation));
  }
  t_group.operations.clear();
  ncclResult_t result = ncclSuccess;
  for (auto& [communicator, operations] : launches) {
    const ncclResult_t launched = communicator->launch(std::move(operations));
    if (result == ncclSuccess || result == ncclInProgress) result = std::max(result, launched);
  }
  return result;
}

// The checks all operations share; `sends` and `receives` count elements.
ncclResult_t enqueue(ncclComm_t handle, const Operation& operation, std::size_t sends, std::size_t receives) {
  const auto communicator = find(handle);
  if (!communicator) return complain(ncclInvalidArgument, "no such communicator");
  if (const auto result = communicator->check_ready(); result != ncclSuccess) return result;
  const std::size_t element = size_of(operation.datatype);
  if (element == 0) return complain(ncclInvalidArgument, "no such datatype");
  if (operation.reduction < ncclSum || operation.reduction >= ncclNumOps)
    return complain(ncclInvalidArgument, "no such reduction");
  if (operation.root < 0 || operation.root >= communicator->size())
    return complain(ncclInvalidArgument, "no such root");
  if (!is_usable(operation.send, sends * element, communicator->device()) ||
      !is_usable(operation.receive, receives * element, communicator->device()))
    return complain(ncclInvalidArgument, "a buffer is not memory of the communicator's GPU, or too small");
  if (operation.stream != nullptr && device_of(operation.stream) != communicator->device())
    return complain(ncclUnhandledCudaError, "the stream is none of the communicator's GPU");
  t_group.operations.emplace_back(communicator, operation);
  return t_group.depth > 0 ? ncclSuccess : run_group();
}

ncclResult_t enqueue_point(ncclComm_t handle, const Point& point, cudaStream_t stream) {
  const auto communicator = find(handle);
  if (communicator && (point.peer < 0 || point.peer >= communicator->size()))
    return complain(ncclInvalidArgument, "no such peer");
  Operation operation{.kind = Kind::group, .datatype = point.datatype, .points = {point}, .stream = stream};
  operation.send = operation.receive = point.buffer;
  return enqueue(handle, operation, point.count, point.count);
}

}  // namespace

ncclResult_t complain(ncclResult_t result, const std::string& text) {
  const char* const debug = std::getenv("NCCL_DEBUG");
  if (debug != nullptr && std::strcmp(debug, "VERSION") != 0) fmt::print(stderr, "stand-in NCCL: {}\n", text);
  const std::lock_guard lock(process().mutex);
  process().last_error = text;
  return result;
}

}  // namespace standin

using namespace standin;

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process error",   "in progress"};
  return kTexts[result];
}

const char* ncclGetLastError(ncclComm_t) {
  thread_local std::string copy;
  const std::lock_guard lock(process().mutex);
  copy = process().last_error;
  return copy.c_str();
}

ncclResult_t ncclMemAlloc(void** ptr, std::size_t size) {
  return cudaMalloc(ptr, size) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* ptr) {
  return cudaFree(ptr) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  *uniqueId = {};
  const auto count = getrandom(uniqueId->internal, 16, 0);
  return count == 16 ? ncclSuccess : complain(ncclSystemError, "getrandom failed");
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  *comm = nullptr;
  if (rank < 0 || rank >= nranks) return complain(ncclInvalidArgument, "no such rank");
  if (config == nullptr || config->size != sizeof *config || config->magic != 0xcafebeef)
    return complain(ncclInvalidArgument, "the configuration was not initialized");
  Hello hello{.rank = rank, .size = nranks};
  if (cudaDeviceGetPCIBusId(hello.gpu, sizeof hello.gpu, current_device()) != cudaSuccess)
    return complain(ncclUnhandledCudaError, "there is no GPU");
  const auto communicator =
      std::make_shared<ncclComm>(commId, hello, current_device(), config->blocking != 0);
  *comm = communicator.get();
  {
    const std::lock_guard lock(process().mutex);
    process().communicators[communicator.get()] = communicator;
  }
  return communicator->state();
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  const auto communicator = find(comm);
  if (!communicator) return complain(ncclInvalidArgument, "no such communicator");
  *asyncError = communicator->state();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const auto communicator = find(comm);
  if (!communicator) return complain(ncclInvalidArgument, "no such communicator");
  if (const auto result = communicator->check_ready(); result != ncclSuccess) return result;
  return communicator->finalize();
}

// Waits for the other ranks unless the communicator was finalized.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const auto communicator = take(comm);
  if (!communicator) return complain(ncclInvalidArgument, "no such communicator");
  if (!communicator->finalized()) communicator->finalize();
  communicator->settle();
  communicator->abort();
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const auto communicator = take(comm);
  if (!communicator) return complain(ncclInvalidArgument, "no such communicator");
  communicator->abort();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, std::size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, {Kind::all_reduce, sendbuff, recvbuff, count, datatype, op, 0, {}, stream}, count,
                 count);
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, std::size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, {Kind::reduce, sendbuff, recvbuff, count, datatype, op, root, {}, stream}, count, 0);
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, std::size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  const auto communicator = find(comm);
  const auto ranks = static_cast<std::size_t>(communicator ? communicator->size() : 0);
  return enqueue(comm, {Kind::reduce_scatter, sendbuff, recvbuff, recvcount, datatype, op, 0, {}, stream},
                 ranks * recvcount, recvcount);
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, std::size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  const auto communicator = find(comm);
  const auto ranks = static_cast<std::size_t>(communicator ? communicator->size() : 0);
  return enqueue(comm, {Kind::all_gather, sendbuff, recvbuff, sendcount, datatype, ncclSum, 0, {}, stream},
                 sendcount, ranks * sendcount);
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, std::size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, {Kind::broadcast, sendbuff, recvbuff, count, datatype, ncclSum, root, {}, stream}, 0,
                 count);
}

ncclResult_t ncclSend(const void* sendbuff, std::size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return enqueue_point(comm, {true, const_cast<void*>(sendbuff), count, datatype, peer}, stream);
}

ncclResult_t ncclRecv(void* recvbuff, std::size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return enqueue_point(comm, {false, recvbuff, count, datatype, peer}, stream);
}

ncclResult_t ncclGroupStart() {
  ++t_group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (t_group.depth == 0) return complain(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  return --t_group.depth > 0 ? ncclSuccess : run_group();
}
