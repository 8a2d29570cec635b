// The collectives of a group of ranks and the messages between them, whatever moves the bytes: our own schedules,
// NCCL, Gloo or MPI.
//
// Every rank makes the same collective calls in the same order. send(), recv() and exchange() are between
// those they name alone: the others need not know. start() returns at once and the call proceeds in the
// background, in call order; its memory must stay put until the Work is done. run() is start() and wait() in
// one, without their cost. Any thread may call, one at a time decides the order. After an exception the
// communicator is broken and every later call throws the same error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/collective.h"
#include "comm/memory.h"

namespace gradwire {

// What goes to a peer, or comes from it, or both. The n-th that a rank sends to another meets the n-th that the
// other receives from it: their bytes and tags must be the same, else both get a Mismatch. A rank may be its own peer.
struct Message {
  Rank peer = 0;
  std::optional<std::span<const std::byte>> out = {};  // what is sent; of no bytes is a message too
  std::optional<std::span<std::byte>> in = {};         // where what comes is put
  std::uint32_t tag = 0;
};

// A collective as data. Bytes per rank, with n ranks:
//   all_reduce, reduce   in and out of equal size; out == in is in place; reduce writes out on the root alone
//   reduce_scatter       in has n times out's bytes; rank r gets the r-th part
//   all_gather           out has n times in's bytes; in place when in is this rank's part of out
//   broadcast            the root's `out` goes to everyone's `out`; `in` is not used
//   all_to_all           in and out of equal size, n parts each; the r-th part of in goes to rank r;
//                        not in place
//   barrier              neither
//   gather               everybody's `in` goes to the root, whose out has n times in's bytes
//   scatter              the root's `in` has n times out's bytes; the r-th part goes to rank r's out
//   send, recv, exchange `messages` alone
// Where the ranks' parts differ in size, in_parts and out_parts say the bytes of each: of all_to_all both, of all_gather and
// gather out_parts, of reduce_scatter and scatter in_parts (of a gather or scatter, on the root alone).
struct Call {
  Collective kind = Collective::barrier;
  std::span<const std::byte> in = {};
  std::span<std::byte> out = {};
  DType dtype = DType::u8;
  Reduction reduction = Reduction::sum;
  Rank root = 0;
  std::uint32_t tag = 0;  // the caller's mark: ranks that present different tags get a Mismatch
  void* stream =
      nullptr;  // NCCL alone: the cudaStream_t on which `in` becomes ready; null is the default stream
  Seconds timeout = 0;  // how long this call may wait; 0: as long as the world says
  std::vector<std::size_t> in_parts = {}, out_parts = {};  // bytes by rank; empty: all are alike
  std::vector<Message> messages = {};                      // of a point-to-point call
};

Call all_reduce(std::span<std::byte> data, DType, Reduction = Reduction::sum);
Call reduce_scatter(std::span<const std::byte> in, std::span<std::byte> out, DType,
                    Reduction = Reduction::sum);
Call all_gather(std::span<const std::byte> in, std::span<std::byte> out, DType);
Call broadcast(std::span<std::byte> data, DType, Rank root);
Call reduce(std::span<std::byte> data, DType, Reduction, Rank root);
Call all_to_all(std::span<const std::byte> in, std::span<std::byte> out, DType);
Call barrier();
Call gather(std::span<const std::byte> in, std::span<std::byte> out, DType, Rank root);   // out: the root's
Call scatter(std::span<const std::byte> in, std::span<std::byte> out, DType, Rank root);  // in: the root's

// The same with parts of different sizes, in bytes.
struct Parts {
  std::vector<std::size_t> in = {}, out = {};
};
Call with_parts(Call, Parts);

// Between two ranks. Two that both send first and receive second use exchange().
Call send(std::span<const std::byte> data, Rank to, std::uint32_t tag = 0);
Call recv(std::span<std::byte> data, Rank from, std::uint32_t tag = 0);
Call exchange(std::vector<Message> messages);  // all go on together and end together

// Throws ConfigError where a call contradicts itself (sizes, root, a part of an element); returns its
// signature.
Signature check_call(const Call&, int world, std::uint64_t sequence);

// When a call ran, on the steady clock.
struct WorkTimes {
  std::chrono::steady_clock::time_point begin, end;
};

class Work {
 public:
  virtual ~Work() = default;  // an unfinished call goes on; only its result can't be asked for any more
  virtual bool done() = 0;    // true also when it failed
  virtual void wait() = 0;    // throws what went wrong
  virtual std::optional<WorkTimes> times() const = 0;  // of a call that is done, where the backend knows
};

// What moves the bytes. Shared memory and the network, by whichever library, take host memory: the one among
// ranks of one host, the other among any. GPUs take their own.
enum class Carrier : std::uint8_t { shared_memory, network, gpus };

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // "shm", "tcp", "shm+gloo"; for people to read
  virtual Carrier carrier() const = 0;
  virtual std::unique_ptr<Work> start(const Call&) = 0;
  virtual void run(const Call&) = 0;
  // Memory this communicator moves without staging: buckets should live here. Zeroed, resident, aligned to a
  // page.
  virtual Memory allocate(std::size_t bytes) = 0;
  // From any thread: running and later calls of this rank throw Cancelled, and the others get PeerLost when
  // they next wait for it, as far as the library behind can (MPI ends a collective call only when all have come).
  virtual void abort() = 0;
};

// The bytes of a vector, an array or a span.
template <typename Values>
std::span<std::byte> bytes_of(Values&& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace gradwire
