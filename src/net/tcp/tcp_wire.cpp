#include "net/tcp/tcp_wire.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/cpu.h"
#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kBlockBytes = 256 << 10;  // of a stream, before it goes on on the next lane
constexpr int kLastWordsMs = 100;               // how far they may be behind the end of a data lane

// The two spans as recvmsg and sendmsg want them, cut to `bytes`.
std::array<iovec, 2> vectors_of(std::span<const std::byte> head, std::span<const std::byte> body,
                                std::size_t bytes) {
  head = head.first(std::min(head.size(), bytes));
  body = body.first(std::min(body.size(), bytes - head.size()));
  return {{{const_cast<std::byte*>(head.data()), head.size()},
           {const_cast<std::byte*>(body.data()), body.size()}}};
}

}  // namespace

TcpWire::TcpWire(RankNames names, std::vector<Lanes> mesh, const TcpOptions& options, bool spins)
    : names_(std::move(names)),
      chunk_bytes_(options.chunk_bytes),
      spin_for_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.spin))),
      spins_(spins),
      peers_(mesh.size()),
      alarm_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!alarm_) throw_system_error("eventfd");
  for (std::size_t other = 0; other < mesh.size(); ++other) {
    if (mesh[other].empty()) continue;
    peers_[other].control = ControlLane(std::move(mesh[other].back()));
    mesh[other].pop_back();
    peers_[other].lanes = std::move(mesh[other]);
  }
  for (const Peer& peer : peers_) controls_.push_back({peer.control.socket(), POLLIN, 0});
}

// Says, without waiting, that this rank needs nobody any more; a rank that died cannot say that.
TcpWire::~TcpWire() {
  for (Peer& peer : peers_)
    if (!told_ && !peer.lanes.empty()) peer.control.say_goodbye();
}

TcpWire::Slot TcpWire::slot(const Peer& peer, const Direction& direction) const {
  if (peer.lanes.size() == 1) return {peer.lanes[0].get(), chunk_bytes_};
  const std::size_t lane = direction.moved / kBlockBytes % peer.lanes.size();
  return {peer.lanes[lane].get(), std::min(chunk_bytes_, kBlockBytes - direction.moved % kBlockBytes)};
}

std::size_t TcpWire::write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) {
  Peer& peer = peers_[to];
  const Slot place = slot(peer, peer.to);
  auto vectors = vectors_of(head, body, place.bytes);
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = vectors.size();
  return moved(peer, peer.to, ::sendmsg(place.socket, &message, MSG_NOSIGNAL));
}

std::size_t TcpWire::read(Rank from, std::span<std::byte> head, std::span<std::byte> body) {
  Peer& peer = peers_[from];
  const Slot place = slot(peer, peer.from);
  auto vectors = vectors_of(head, body, place.bytes);
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = vectors.size();
  const ssize_t got = ::recvmsg(place.socket, &message, 0);
  if (got == 0) errno = 0;
  return moved(peer, peer.from, got == 0 ? -1 : got);
}

// What a system call's result means for a stream.
std::size_t TcpWire::moved(Peer& peer, Direction& direction, ssize_t result) {
  if (result > 0) {
    direction.moved += static_cast<std::uint64_t>(result);
    return static_cast<std::size_t>(result);
  }
  direction.starved = true;
  if (errno == EAGAIN || errno == EINTR) return 0;
  peer.end = errno == 0 ? "its connection was closed" : std::generic_category().message(errno);
  news_ = true;
  return 0;
}

bool TcpWire::pause(bool again, Deadline deadline) {
  if (news_) return true;
  const auto now = Clock::now();
  if (!again) idle_since_ = now;
  const bool blocks = now - idle_since_ >= spin_for_;
  if (blocks)
    block(deadline);
  else if (spins_)
    cpu_pause();
  else
    sched_yield();
  for (Peer& peer : peers_) peer.to.starved = peer.from.starved = false;
  return blocks;
}

void TcpWire::block(Deadline deadline) {
  polled_ = controls_;
  polled_.push_back({alarm_.get(), POLLIN, 0});
  for (const Peer& peer : peers_) {
    if (peer.to.starved) polled_.push_back({slot(peer, peer.to).socket, POLLOUT, 0});
    if (peer.from.starved) polled_.push_back({slot(peer, peer.from).socket, POLLIN, 0});
  }
  ::poll(polled_.data(), polled_.size(), deadline.remaining_ms());
  std::uint64_t count = 0;
  if (polled_[controls_.size()].revents != 0) [[maybe_unused]]
    const ssize_t drained = ::read(alarm_.get(), &count, sizeof count);
}

std::optional<Fault> TcpWire::find_fault() {
  news_ = false;
  ::poll(controls_.data(), controls_.size(), 0);
  for (std::size_t other = 0; other < peers_.size(); ++other) {
    if (controls_[other].revents == 0 && peers_[other].end.empty()) continue;
    if (auto fault = find_fault_of(static_cast<Rank>(other), peers_[other])) return fault;
    if (peers_[other].control.state() != ControlLane::State::open) controls_[other].fd = -1;  // all is said
  }
  return std::nullopt;
}

// A rank that breaks says so before its connections end, but the words may arrive a moment later. A rank that
// has left is missed only when something is still to be moved, and its lane has ended.
std::optional<Fault> TcpWire::find_fault_of(Rank other, Peer& peer) {
  const auto state = peer.end.empty() ? peer.control.listen() : peer.control.listen_for(kLastWordsMs);
  const auto lost = [&](const std::string& how) {
    return Fault{Fault::Kind::peer_lost, names_.me(), names_.of(other),
                 fmt::format("rank {} {}", names_.of(other), how)};
  };
  if (state == ControlLane::State::broke) return peer.control.fault();
  if (state == ControlLane::State::died)
    return lost("is gone: its process ended or its machine is out of reach");
  if (peer.end.empty()) return std::nullopt;
  if (state == ControlLane::State::left)
    return lost(fmt::format("has left, but rank {} still waits for it", names_.me()));
  return lost("is gone: " + peer.end);
}

void TcpWire::tell(const Fault& fault) noexcept {
  const std::string words = fault.encode();
  for (Peer& peer : peers_)
    if (!told_ && !peer.lanes.empty()) peer.control.say_fault(words);
  told_ = true;
}

void TcpWire::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(alarm_.get(), &one, sizeof one);
}

}  // namespace gradwire
