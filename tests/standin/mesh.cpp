#include "mesh.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

namespace standin {
namespace {

using gradwire::Fd;

constexpr int kLookMs = 2;  // how long a wait may go on without looking at `stop`

// An abstract address: it lives as long as its socket.
sockaddr_un address_of(const ncclUniqueId& id, int rank) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = "standin-nccl-";
  for (int i = 0; i < 16; ++i) name += fmt::format("{:02x}", static_cast<unsigned char>(id.internal[i]));
  name += fmt::format("-{}", rank);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return address;
}

Fd make_socket() { return Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

void wait_for(int fd, short events) {
  pollfd waiting{fd, events, 0};
  poll(&waiting, 1, kLookMs);
}

Fd listen_at(const sockaddr_un& address, int backlog) {
  Fd listener = make_socket();
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  if (bind(listener.get(), name, sizeof address) != 0 || listen(listener.get(), backlog) != 0) return Fd();
  return listener;
}

// A part of a message in flight: its header, then its bytes.
struct Transfer {
  int peer;
  Header header;
  std::byte* bytes;
  std::size_t size;
  std::size_t moved = 0;
  Header arrived = {};

  bool done() const { return moved == sizeof(Header) + size; }

  // Moves what the socket takes now. The result of send() or recv().
  ssize_t move(int fd, bool outgoing) {
    Header& shown = outgoing ? header : arrived;
    const bool in_header = moved < sizeof(Header);
    std::byte* const at =
        in_header ? reinterpret_cast<std::byte*>(&shown) + moved : bytes + (moved - sizeof(Header));
    const std::size_t left = (in_header ? sizeof(Header) : sizeof(Header) + size) - moved;
    const ssize_t count = outgoing ? send(fd, at, left, MSG_NOSIGNAL) : recv(fd, at, left, 0);
    if (count > 0) moved += static_cast<std::size_t>(count);
    return count;
  }
};

// One direction of an exchange: for each peer its messages in order.
class Lane {
 public:
  Lane(bool outgoing, std::size_t peers) : outgoing_(outgoing), queues_(peers) {}

  void add(const Transfer& transfer) { queues_[static_cast<std::size_t>(transfer.peer)].push_back(transfer); }
  bool busy(std::size_t peer) const { return !queues_[peer].empty(); }
  std::int64_t latest() const { return latest_; }

  std::optional<Trouble> progress(std::size_t peer, int fd) {
    while (busy(peer)) {
      Transfer& next = queues_[peer].front();
      const ssize_t count = next.move(fd, outgoing_);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
      if (count <= 0) return Trouble{ncclRemoteError, fmt::format("connection to rank {} was closed", peer)};
      if (!outgoing_ && next.moved >= sizeof(Header) && next.arrived != next.header)
        return Trouble{ncclInvalidUsage, fmt::format("this rank is in {}, but rank {} is in {}",
                                                     describe(next.header), peer, describe(next.arrived))};
      if (!outgoing_ && next.moved >= sizeof(Header)) latest_ = std::max(latest_, next.arrived.at);
      if (next.done()) queues_[peer].pop_front();
    }
    return std::nullopt;
  }

 private:
  bool outgoing_;
  std::int64_t latest_ = 0;
  std::vector<std::deque<Transfer>> queues_;
};

}  // namespace

std::string describe(const Header& header) {
  return fmt::format("operation {} (kind {}, count {}, datatype {}, op {}, root {})", header.sequence,
                     header.kind, header.count, header.datatype, header.operation, header.root);
}

std::optional<Trouble> Mesh::greet(Fd connection, const Hello& mine) {
  Hello theirs;
  std::size_t sent = 0, received = 0;
  while (!stop_ && (sent < sizeof mine || received < sizeof theirs)) {
    const auto* const out = reinterpret_cast<const std::byte*>(&mine) + sent;
    const ssize_t more = send(connection.get(), out, sizeof mine - sent, MSG_NOSIGNAL);
    if (more > 0) sent += static_cast<std::size_t>(more);
    auto* const in = reinterpret_cast<std::byte*>(&theirs) + received;
    const ssize_t count = recv(connection.get(), in, sizeof theirs - received, 0);
    if (count > 0) received += static_cast<std::size_t>(count);
    if (count == 0 && received < sizeof theirs)
      return Trouble{ncclRemoteError, "a rank closed its connection while the communicator was made"};
    if (received < sizeof theirs) wait_for(connection.get(), POLLIN);
  }
  if (stop_) return std::nullopt;
  if (theirs.size != mine.size || theirs.rank < 0 || theirs.rank >= mine.size || theirs.rank == mine.rank)
    return Trouble{ncclInvalidUsage, "ranks do not agree on who they are"};
  if (std::strcmp(theirs.gpu, mine.gpu) == 0)
    return Trouble{ncclInvalidUsage, fmt::format("ranks {} and {} are both on the GPU at {}", mine.rank,
                                                 theirs.rank, mine.gpu)};
  peers_[static_cast<std::size_t>(theirs.rank)] = std::move(connection);
  return std::nullopt;
}

// Every rank connects to the ranks below it and accepts those above.
std::optional<Trouble> Mesh::connect(const ncclUniqueId& id, const Hello& mine) {
  peers_.resize(static_cast<std::size_t>(mine.size));
  const Fd listener = listen_at(address_of(id, mine.rank), mine.size);
  if (!listener) return Trouble{ncclInvalidUsage, fmt::format("rank {} exists already", mine.rank)};
  for (int peer = 0; peer < mine.rank && !stop_;) {
    Fd connection = make_socket();
    const sockaddr_un address = address_of(id, peer);
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      wait_for(listener.get(), 0);  // not there yet
      continue;
    }
    if (auto trouble = greet(std::move(connection), mine)) return trouble;
    ++peer;
  }
  for (int accepted = mine.rank + 1; accepted < mine.size && !stop_;) {
    Fd connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
      wait_for(listener.get(), POLLIN);
      continue;
    }
    if (auto trouble = greet(std::move(connection), mine)) return trouble;
    ++accepted;
  }
  return std::nullopt;
}

std::optional<Trouble> Mesh::exchange(std::vector<Outgoing> out, std::vector<Incoming> in) {
  Lane sending(true, peers_.size()), receiving(false, peers_.size());
  for (const auto& message : out)
    sending.add(
        {message.peer, message.header, const_cast<std::byte*>(message.bytes.data()), message.bytes.size()});
  for (const auto& message : in)
    receiving.add({message.peer, message.header, message.bytes.data(), message.bytes.size()});
  while (!stop_) {
    std::vector<pollfd> waiting;
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      const int fd = peers_[peer].get();
      if (auto trouble = receiving.progress(peer, fd)) return trouble;
      if (auto trouble = sending.progress(peer, fd)) return trouble;
      const int events = (receiving.busy(peer) ? POLLIN : 0) | (sending.busy(peer) ? POLLOUT : 0);
      if (events != 0) waiting.push_back({fd, static_cast<short>(events), 0});
    }
    if (waiting.empty()) {
      latest_ = receiving.latest();
      return std::nullopt;
    }
    poll(waiting.data(), waiting.size(), kLookMs);
  }
  return Trouble{ncclInternalError, "the communicator was aborted"};
}

}  // namespace standin
