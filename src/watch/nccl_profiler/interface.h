// NCCL's profiler interfaces, versions 1 to 6, as NCCL documents them: what it hands to a plugin for the events this one
// asks for (collectives, sends and receives, channels of kernels), and the table of functions it looks for by name. Fields
// of other events are left out; every event lies in a union, so its own fields decide its layout alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire::nccl_profiler {

using Result = int;  // ncclResult_t; 0 is success, and a profiler says nothing else
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

// Kinds of events, bits of a mask.
inline constexpr std::uint64_t kCollective = 1 << 1, kPointToPoint = 1 << 2, kKernelChannel = 1 << 6;
inline constexpr int kChannelStopped = 22;  // the state in which a channel's last time comes

// What all descriptions begin with: version 5 made the type wider, which moves nothing.
template <typename Type, typename Call>
struct Description {
  Type type;
  void* parent;
  int rank;
  Call call;
};

struct NumberedCollective {  // version 1
  const char* name;
  std::uint64_t communicator, sequence;
  std::uint8_t function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  std::uint8_t datatype;
  std::uint32_t operation;
  std::size_t traffic;
  std::uint8_t channels, warps, algorithm, protocol;
  int collnet, nvls;
};
struct NumberedPeer {
  const char* name;
  std::uint64_t communicator;
  std::uint8_t function;
  void* buffer;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};

struct CollectiveWithTraffic {  // version 2
  const char* name;
  std::uint64_t communicator, sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t traffic;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct CollectiveOfCommunicator {  // version 3
  const char* name;
  std::uint64_t communicator, sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct PeerOfCommunicator {  // versions 2 and 3
  const char* name;
  std::uint64_t communicator;
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
};

struct PlainCollective {  // version 4 and later; 5 and 6 have one more field behind
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct PlainPeer {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

struct KernelChannel {  // version 3, which has no time, and later
  std::uint8_t channel;
  std::uint64_t time;
};

template <typename Collective, typename Peer>
union Calls {
  Collective collective;
  Peer peer;
  KernelChannel channel;
};
using Description1 = Description<std::uint8_t, Calls<NumberedCollective, NumberedPeer>>;
using Description2 = Description<std::uint8_t, Calls<CollectiveWithTraffic, PeerOfCommunicator>>;
using Description3 = Description<std::uint8_t, Calls<CollectiveOfCommunicator, PeerOfCommunicator>>;
using Description4 = Description<std::uint8_t, Calls<PlainCollective, PlainPeer>>;
using Description5 = Description<std::uint64_t, Calls<PlainCollective, PlainPeer>>;

union StateArguments {
  struct {
    std::uint64_t time;
  } channel;
  struct {
    std::size_t size;
    int steps;
  } other;
};

template <typename Init, typename Descr>
struct Profiler {
  const char* name;
  Init init;
  Result (*start)(void* context, void** handle, Descr* description);
  Result (*stop)(void* handle);
  Result (*record_state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};
using Init1 = Result (*)(void** context, int* mask);
using Init4 = Result (*)(void** context, int* mask, const char* name, std::uint64_t communicator, int nodes,
                         int ranks, int rank, Logger log);
using Init5 = Result (*)(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes,
                         int ranks, int rank, Logger log);
using Profiler1 = Profiler<Init1, Description1>;
using Profiler2 = Profiler<Init1, Description2>;
using Profiler3 = Profiler<Init1, Description3>;
using Profiler4 = Profiler<Init4, Description4>;
using Profiler5 = Profiler<Init5, Description5>;  // 6 too: it adds events of copy engines

}  // namespace gradwire::nccl_profiler
