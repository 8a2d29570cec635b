#include "net/tcp/handshake.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace gradwire {
namespace {

constexpr std::array<char, 8> kMagic = {'g', 'r', 'a', 'd', 't', 'c', 'p', '1'};

struct Hello {
  std::array<char, 8> magic = kMagic;
  Edge edge;
  std::uint32_t unused = 0;
  Nonce nonce{};
};

struct Answer {
  Nonce nonce{};
  Proof proof{};
};

constexpr char kWelcome = 'w';

template <typename Message>
std::string bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

template <typename Message>
Message message_of(const std::string& bytes) {
  Message message;
  std::memcpy(&message, bytes.data(), sizeof message);
  return message;
}

}  // namespace

Handshake::Handshake(Fd socket, const World& world, const Edge& edge)
    : socket_(std::move(socket)),
      world_(&world),
      edge_(edge),
      connector_(make_nonce()),
      awaited_(Step::answer),
      outgoing_(bytes_of(Hello{.edge = edge, .nonce = connector_})) {}

Handshake::Handshake(Fd socket, const World& world)
    : socket_(std::move(socket)), world_(&world), acceptor_(make_nonce()), awaited_(Step::hello) {}

Handshake::State Handshake::advance() {
  errno = 0;
  while (flush()) {
    if (awaited_ == Step::nothing) return State::done;
    if (!receive()) break;
    if (!understand()) return fail(Failure::stranger, "it does not know the secret of this world");
    incoming_.clear();
  }
  if (errno == EAGAIN || errno == EINTR) return State::working;
  return fail(errno == ECONNREFUSED ? Failure::refused : Failure::broken,
              errno != 0 ? std::generic_category().message(errno) : "it closed the connection");
}

short Handshake::events() const { return outgoing_.empty() ? POLLIN : POLLOUT; }

Handshake::State Handshake::fail(Failure failure, const std::string& reason) {
  failure_ = failure;
  reason_ = reason;
  return State::failed;
}

bool Handshake::flush() {
  while (!outgoing_.empty()) {
    const ssize_t sent = ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    outgoing_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t Handshake::bytes_of_step() const {
  switch (awaited_) {
    case Step::hello:
      return sizeof(Hello);
    case Step::answer:
      return sizeof(Answer);
    case Step::proof:
      return sizeof(Proof);
    default:
      return sizeof kWelcome;
  }
}

// Never takes more than is awaited: what follows belongs to the transport.
bool Handshake::receive() {
  const std::size_t wanted = bytes_of_step();
  std::array<char, std::max(sizeof(Hello), sizeof(Answer))> block;
  while (incoming_.size() < wanted) {
    const ssize_t got = ::recv(socket_.get(), block.data(), wanted - incoming_.size(), 0);
    if (got <= 0) return false;
    incoming_.append(block.data(), static_cast<std::size_t>(got));
  }
  return true;
}

bool Handshake::understand() {
  switch (awaited_) {
    case Step::hello:
      return understand_hello();
    case Step::answer:
      return understand_answer();
    case Step::proof:
      return understand_proof();
    default:
      return understand_welcome();
  }
}

bool Handshake::understand_hello() {
  const auto hello = message_of<Hello>(incoming_);
  edge_ = hello.edge;
  connector_ = hello.nonce;
  outgoing_ = bytes_of(Answer{acceptor_, proof_of("accepting")});
  awaited_ = Step::proof;
  return hello.magic == kMagic && edge_.to == world_->rank && edge_.from > world_->rank &&
         edge_.from < world_->size;
}

bool Handshake::understand_answer() {
  const auto answer = message_of<Answer>(incoming_);
  acceptor_ = answer.nonce;
  outgoing_ = bytes_of(proof_of("connecting"));
  awaited_ = Step::welcome;
  return same(answer.proof, proof_of("accepting"));
}

bool Handshake::understand_proof() {
  outgoing_ = kWelcome;
  awaited_ = Step::nothing;
  return same(message_of<Proof>(incoming_), proof_of("connecting"));
}

bool Handshake::understand_welcome() {
  awaited_ = Step::nothing;
  return incoming_[0] == kWelcome;
}

Proof Handshake::proof_of(std::string_view role) const {
  return prove(world_->secret, fmt::format("gradwire tcp {} {} {} {} {} ", role, world_->size, edge_.from,
                                           edge_.to, edge_.lane) +
                                   bytes_of(connector_) + bytes_of(acceptor_) + world_->name);
}

}  // namespace gradwire
