// A connection from one rank of a stand-in communicator to every other, over unix sockets whose names come
// from the unique id: ranks may be threads or processes of one host, and a rank that dies is noticed as its
// connection closes. Nothing is left in the file system.
//
// An object is used by one thread at a time. Its functions return once `stop` is set, within milliseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "nccl.h"

namespace standin {

// What went wrong, as ncclCommGetAsyncError and ncclGetLastError will tell it.
struct Trouble {
  ncclResult_t result;
  std::string text;
};

// What a rank says of itself when it connects.
struct Hello {
  std::int32_t rank = 0, size = 0;
  char gpu[32] = {};
};

// What goes before the bytes of every message. Both sides must mean the same.
struct Header {
  std::uint64_t sequence = 0, count = 0;
  std::int32_t kind = 0, datatype = 0, operation = 0, root = 0;
  std::int64_t at = 0;  // the time of the rank's stream, in which ranks may differ
  bool operator==(const Header& other) const {
    return sequence == other.sequence && count == other.count && kind == other.kind &&
           datatype == other.datatype && operation == other.operation && root == other.root;
  }
};
std::string describe(const Header&);

struct Outgoing {
  int peer;
  Header header;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int peer;
  Header header;
  std::span<std::byte> bytes;
};

class Mesh {
 public:
  explicit Mesh(const std::atomic<bool>& stop) : stop_(stop) {}

  // Waits for all ranks of the clique.
  std::optional<Trouble> connect(const ncclUniqueId& id, const Hello& mine);

  // Sends and receives everything at once; messages with one peer keep their order.
  std::optional<Trouble> exchange(std::vector<Outgoing> out, std::vector<Incoming> in);
  // The latest time that any peer of the last exchange said.
  std::int64_t latest() const { return latest_; }

 private:
  std::optional<Trouble> greet(gradwire::Fd connection, const Hello& mine);

  const std::atomic<bool>& stop_;
  std::int64_t latest_ = 0;
  std::vector<gradwire::Fd> peers_;  // by rank; none for this rank itself
};

}  // namespace standin
