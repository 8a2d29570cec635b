// The tables NCCL looks for, ncclProfiler_v1 to ncclProfiler_v6: each translates what its version says of a call into a
// ReportedCall. A profiler never stops a run: what can't be recorded is not asked for, and every answer is success.
#include <cstdlib>

#include "watch/nccl_profiler/call_log.h"
#include "watch/nccl_profiler/interface.h"

namespace gradwire::nccl_profiler {
namespace {

constexpr Result kSuccess = 0;

template <std::size_t size>
const char* word_at(const char* const (&words)[size], std::uint8_t index) {
  return index < size ? words[index] : "unknown";
}

const char* function_word(std::uint8_t number) {
  constexpr const char* kWords[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                    "AllReduce", "SendRecv", "Send",      "Recv"};
  return word_at(kWords, number);
}
const char* datatype_word(std::uint8_t number) {
  constexpr const char* kWords[] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return word_at(kWords, number);
}
const char* algorithm_word(std::uint8_t number) {
  constexpr const char* kWords[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                    "NVLS_TREE", "PAT"};
  return word_at(kWords, number);
}
const char* protocol_word(std::uint8_t number) {
  constexpr const char* kWords[] = {"LL", "LL128", "SIMPLE"};
  return word_at(kWords, number);
}

ReportedCall reported(const NumberedCollective& call) {
  return {.sequence = call.sequence,
          .count = call.count,
          .channels = call.channels,
          .communicator = call.communicator,
          .collective = function_word(call.function),
          .datatype = datatype_word(call.datatype),
          .algorithm = algorithm_word(call.algorithm),
          .protocol = protocol_word(call.protocol)};
}
ReportedCall reported(const NumberedPeer& call) {
  return {.count = call.count,
          .peer = call.peer,
          .communicator = call.communicator,
          .collective = function_word(call.function),
          .datatype = datatype_word(call.datatype)};
}

template <typename Collective>
ReportedCall worded_collective(const Collective& call) {
  return {.sequence = call.sequence,
          .count = call.count,
          .channels = call.channels,
          .collective = call.function,
          .datatype = call.datatype,
          .algorithm = call.algorithm,
          .protocol = call.protocol};
}
template <typename Collective>
ReportedCall with_communicator(const Collective& call) {
  ReportedCall report = worded_collective(call);
  report.communicator = call.communicator;
  return report;
}
ReportedCall reported(const CollectiveWithTraffic& call) { return with_communicator(call); }
ReportedCall reported(const CollectiveOfCommunicator& call) { return with_communicator(call); }
ReportedCall reported(const PlainCollective& call) { return worded_collective(call); }
ReportedCall reported(const PeerOfCommunicator& call) {
  return {.count = call.count,
          .peer = call.peer,
          .communicator = call.communicator,
          .collective = call.function,
          .datatype = call.datatype};
}
ReportedCall reported(const PlainPeer& call) {
  return {.count = call.count,
          .peer = call.peer,
          .channels = call.channels,
          .collective = call.function,
          .datatype = call.datatype};
}

const char* folder_for_calls() {
  const char* const folder = std::getenv("GRADWIRE_NCCL_DIR");
  return folder != nullptr && *folder != '\0' ? folder : ".";
}

Result open_log(void** context, int* mask, const ReportedGroup& of) {
  if (context == nullptr || mask == nullptr) return kSuccess;
  *context = CallLog::open(folder_for_calls(), of);
  *mask = 0;
  // A collective's own event ends when it has been given to the GPU; what it takes there its channels say.
  if (*context != nullptr) *mask = static_cast<int>(kCollective | kPointToPoint | kKernelChannel);
  return kSuccess;
}

template <std::uint32_t version>
Result init_unnamed(void** context, int* mask) {
  return open_log(context, mask, {.interface = version});
}
Result init_named(void** context, int* mask, const char* name, std::uint64_t communicator, int nodes,
                  int ranks, int rank, Logger) {
  return open_log(
      context, mask,
      {.interface = 4, .rank = rank, .ranks = ranks, .nodes = nodes, .id = communicator, .name = name});
}
template <std::uint32_t version>
Result init_identified(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes,
                       int ranks, int rank, Logger) {
  return open_log(
      context, mask,
      {.interface = version, .rank = rank, .ranks = ranks, .nodes = nodes, .id = communicator, .name = name});
}

void* begin_reported(void* context, ReportedCall call, int rank) {
  call.rank = rank;
  return static_cast<CallLog*>(context)->begin_call(call);
}

template <typename Descr, bool gpu_times>
Result start_event(void* context, void** handle, Descr* event) {
  if (handle == nullptr) return kSuccess;
  *handle = nullptr;
  if (context == nullptr || event == nullptr) return kSuccess;
  switch (static_cast<std::uint64_t>(event->type)) {
    case kCollective:
      *handle = begin_reported(context, reported(event->call.collective), event->rank);
      break;
    case kPointToPoint:
      *handle = begin_reported(context, reported(event->call.peer), event->rank);
      break;
    case kKernelChannel:
      *handle = CallLog::begin_channel(event->parent, event->call.channel.channel,
                                       gpu_times ? event->call.channel.time : 0);
      break;
    default:
      break;  // an event that was not asked for
  }
  return kSuccess;
}

Result stop_event(void* handle) {
  CallLog::end(handle);
  return kSuccess;
}

Result record_state(void* handle, int state, StateArguments* arguments) {
  if (state == kChannelStopped && arguments != nullptr)
    CallLog::set_channel_end(handle, arguments->channel.time);
  return kSuccess;
}

Result finalize(void*) { return kSuccess; }  // the file is written already, and late events may still come

template <typename Table, typename Descr, bool gpu_times, typename Init>
constexpr Table table_of(Init init) {
  return {"gradwire", init, start_event<Descr, gpu_times>, stop_event, record_state, finalize};
}

}  // namespace
}  // namespace gradwire::nccl_profiler

extern "C" {
using namespace gradwire::nccl_profiler;
extern const Profiler1 ncclProfiler_v1;
extern const Profiler2 ncclProfiler_v2;
extern const Profiler3 ncclProfiler_v3;
extern const Profiler4 ncclProfiler_v4;
extern const Profiler5 ncclProfiler_v5, ncclProfiler_v6;
const Profiler1 ncclProfiler_v1 = table_of<Profiler1, Description1, false>(init_unnamed<1>);
const Profiler2 ncclProfiler_v2 = table_of<Profiler2, Description2, false>(init_unnamed<2>);
const Profiler3 ncclProfiler_v3 = table_of<Profiler3, Description3, false>(init_unnamed<3>);
const Profiler4 ncclProfiler_v4 = table_of<Profiler4, Description4, true>(init_named);
const Profiler5 ncclProfiler_v5 = table_of<Profiler5, Description5, true>(init_identified<5>);
const Profiler5 ncclProfiler_v6 = table_of<Profiler5, Description5, true>(init_identified<6>);
}
