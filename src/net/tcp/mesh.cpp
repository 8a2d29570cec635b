#include "net/tcp/mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "net/address/address.h"
#include "net/address/interface.h"
#include "net/address/socket.h"
#include "net/exchange.h"
#include "net/overdue.h"
#include "net/tcp/handshake.h"

namespace gradwire {
namespace {

constexpr std::string_view kAddresses = "tcp addresses", kConnections = "tcp connections";
constexpr Seconds kHandshakeTime = 10;  // a rank needs milliseconds; who says nothing for this long is none
constexpr std::size_t kMoreStrangers =
    256;                        // than there are ranks to come may be connected; then the oldest goes
constexpr Seconds kTick = 0.1;  // between attempts to connect again, and looks at who is missing

class MeshBuilder {
 public:
  MeshBuilder(const World& world, int lanes, Fd listener, std::vector<SocketAddress> addresses)
      : world_(world),
        listener_(std::move(listener)),
        addresses_(std::move(addresses)),
        expected_(static_cast<std::size_t>(world.size - 1 - world.rank) * static_cast<std::size_t>(lanes)),
        mesh_(world.size) {
    for (Rank peer = 0; peer < world.size; ++peer)
      if (peer != world.rank) mesh_[peer].resize(lanes);
    for (Rank peer = 0; peer < world.rank; ++peer)
      for (int lane = 0; lane < lanes; ++lane) connect(peer, lane);
  }

  std::vector<Lanes> build(Deadline deadline) {
    while (true) {
      advance(ours_, [this](const Handshake& failed) { retry(failed); });
      advance(strangers_, [](const Handshake&) {});
      const auto missing = missing_ranks();
      if (missing.empty()) return std::move(mesh_);
      if (deadline.passed())
        throw Overdue(fmt::format("rank {} waited too long for a connection with rank {}{}",
                                  world_.global(world_.rank), fmt::join(missing, ", rank "), last_failure_),
                      missing);
      wait();
      accept();
      if (next_tick_.passed()) tick();
    }
  }

 private:
  struct Stranger {
    Handshake handshake;
    Deadline deadline;
  };

  void connect(Rank peer, int lane) {
    const SocketAddress& address = addresses_[peer];
    Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket && out_of_descriptors(errno)) return make_room_for({world_.rank, peer, lane});
    if (!socket) throw_system_error("socket");
    if (::connect(socket.get(), address.get(), address.size()) != 0 && errno != EINPROGRESS)
      throw_system_error(fmt::format("rank {} can't connect to rank {} at {}", world_.global(world_.rank),
                                     world_.global(peer), address.text()));
    ours_.push_back(
        {Handshake(std::move(socket), world_, {world_.rank, peer, lane}), Deadline::after(kHandshakeTime)});
  }

  // Strangers may hold what this rank needs itself; where they don't, somebody else may let go of some.
  void make_room_for(const Edge& edge) {
    last_failure_ = "; there are too many open files";
    if (!strangers_.empty()) strangers_.pop_front();
    again_.push_back(edge);
  }

  // A connection may be lost to a crowd of strangers at the other side; other failures are final.
  void retry(const Handshake& failed) {
    const Edge edge = failed.edge();
    last_failure_ = fmt::format("; the last attempt with rank {} failed: {}", world_.global(edge.to),
                                failed.reason().empty() ? "it says nothing" : failed.reason());
    if (failed.failure() == Handshake::Failure::broken) return again_.push_back(edge);
    check_exchange(world_, kConnections, edge.to);  // the peer's own words, if it has any
    const auto& address = addresses_[edge.to];
    const auto* hint =
        address.is_loopback() ? "; ranks on several machines need an interface to listen on" : "";
    const auto text = fmt::format("rank {} can't connect to rank {} at {}: {}{}", world_.global(world_.rank),
                                  world_.global(edge.to), address.text(), failed.reason(), hint);
    if (failed.failure() == Handshake::Failure::refused) throw PeerLost(world_.global(edge.to), text);
    throw TransportError(text);
  }

  template <typename OnFailure>
  void advance(std::list<Stranger>& all, OnFailure on_failure) {
    for (auto it = all.begin(); it != all.end();) {
      const auto state = it->handshake.advance();
      if (state == Handshake::State::done) welcome(it->handshake);
      const bool late = state == Handshake::State::working && it->deadline.passed();
      if (state == Handshake::State::failed || late) on_failure(it->handshake);
      it = state == Handshake::State::working && !late ? std::next(it) : all.erase(it);
    }
  }

  void welcome(Handshake& handshake) {
    const Edge& edge = handshake.edge();
    auto& lanes = mesh_[edge.from == world_.rank ? edge.to : edge.from];
    const auto lane = static_cast<std::size_t>(edge.lane);
    if (lane < lanes.size() && !lanes[lane]) lanes[lane] = handshake.take_socket();
  }

  std::vector<Rank> missing_ranks() const {
    std::vector<Rank> missing;
    for (Rank peer = 0; peer < world_.size; ++peer)
      if (std::ranges::any_of(mesh_[peer], [](const Fd& socket) { return !socket; }))
        missing.push_back(world_.global(peer));
    return missing;
  }

  void wait() {
    std::vector<pollfd> polled = {{accepts_ ? listener_.get() : -1, POLLIN, 0}};  // poll() passes over -1
    for (const auto* list : {&ours_, &strangers_})
      for (const auto& one : *list) polled.push_back({one.handshake.socket(), one.handshake.events(), 0});
    ::poll(polled.data(), polled.size(), next_tick_.remaining_ms());
  }

  void tick() {
    next_tick_ = Deadline::after(kTick);
    accepts_ = true;
    for (const Edge& edge : std::exchange(again_, {})) connect(edge.to, edge.lane);
    for (Rank peer = 0; peer < world_.size; ++peer)
      if (std::ranges::any_of(mesh_[peer], [](const Fd& socket) { return !socket; }))
        check_exchange(world_, kConnections, peer);
  }

  // Without a descriptor for another, the oldest goes, or nobody comes until the next tick.
  void accept() {
    while (accepts_) {
      Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket && out_of_descriptors(errno)) {
        accepts_ = !strangers_.empty();
        if (accepts_) strangers_.pop_front();
        continue;
      }
      if (!socket) return;
      strangers_.push_back({Handshake(std::move(socket), world_), Deadline::after(kHandshakeTime)});
      if (strangers_.size() > expected_ + more_strangers_) strangers_.pop_front();
    }
  }

  const World& world_;
  const Fd listener_;
  const std::vector<SocketAddress> addresses_;
  const std::size_t expected_;  // connections from other ranks
  const std::size_t more_strangers_ = stranger_limit(kMoreStrangers);
  std::vector<Lanes> mesh_;
  std::list<Stranger> ours_, strangers_;  // connections under way, by who began
  std::vector<Edge> again_;               // to be connected at the next tick
  bool accepts_ = true;  // false until the next tick while there is no descriptor for another
  std::string last_failure_;
  Deadline next_tick_ = Deadline::after(kTick);
};

// What a rank publishes: where it listens, and how many lanes it counts on.
std::string describe_listener(const Fd& listener, int lanes) {
  return fmt::format("{} {}", local_address(listener.get()).text(), lanes);
}

std::vector<SocketAddress> parse_addresses(const std::vector<std::string>& published, int lanes) {
  std::vector<SocketAddress> addresses;
  for (const auto& text : published) {
    const auto parts = split(text, ' ');
    if (parts.size() != 2 || find_integer<int>(parts[1]) != lanes)
      throw ConfigError(
          fmt::format("ranks differ in their number of sockets: rank {} says '{}', this one has {} lanes",
                      addresses.size(), text, lanes));
    addresses.push_back(resolve(parse_host_port(parts[0])).front());
  }
  return addresses;
}

}  // namespace

std::vector<Lanes> connect_mesh(const World& world, int lanes, Deadline deadline) {
  Fd listener;
  const auto addresses = exchange(world, kAddresses, deadline, [&] {
    listener = listen_at(choose_address(world.interface));
    return describe_listener(listener, lanes);
  });
  std::vector<Lanes> mesh;
  exchange(world, kConnections, deadline, [&] {
    mesh = MeshBuilder(world, lanes, std::move(listener), parse_addresses(addresses, lanes)).build(deadline);
    return std::string();
  });
  return mesh;
}

}  // namespace gradwire
