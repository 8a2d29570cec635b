#include "net/store/connect.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "net/address/socket.h"
#include "net/store/wire.h"

namespace gradwire {
namespace {

// A server that listens answers at once; one that takes longer may be something else that says nothing.
constexpr Seconds kHandshake = 10;

std::string receive_frame(int socket, Deadline deadline) {
  FrameReader reader;
  for (;;) {
    if (auto message = reader.next(kMaxStrangerFrame)) return *message;
    if (!wait_until_ready(socket, POLLIN, deadline)) throw Timeout("it listens but says nothing");
    // No more than this frame is under way: the server speaks only when it is its turn.
    std::array<char, kMaxStrangerFrame> block;
    const auto got = ::recv(socket, block.data(), block.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw_system_error("recv");
    if (got == 0) throw TransportError("it closed the connection");
    reader.append({block.data(), static_cast<std::size_t>(got)});
  }
}

void send_frame(int socket, std::string_view content) {
  const std::string bytes = frame(content);
  // A fresh socket's buffer takes a few hundred bytes in one piece.
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    throw_system_error("send");
}

Nonce receive_greeting(int socket, const TcpStore::Options& options, Deadline deadline) {
  try {
    return Greeting::decode(receive_frame(socket, deadline)).nonce;
  } catch (const Malformed&) {
    throw ConfigError(fmt::format("what listens at {} is not a store of Gradwire", options.server.text()));
  }
}

void shake_hands(int socket, const TcpStore::Options& options, Deadline deadline) {
  const Nonce server = receive_greeting(socket, options, deadline);
  Claim claim{make_nonce(), {}, options.who};
  claim.proof = client_proof(options.secret, server, claim.nonce, claim.who);
  send_frame(socket, claim.encode());
  const auto verdict = ProofVerdict::decode(receive_frame(socket, deadline));
  if (!verdict.proof)
    throw ConfigError(fmt::format(
        "the store at {} refused this client: {}; GRADWIRE_SECRET must be the same for all ranks of a job",
        options.server.text(), verdict.reason));
  if (!same(*verdict.proof, server_proof(options.secret, server, claim.nonce)))
    throw ConfigError(fmt::format("the store at {} does not know the secret: it is another job's, or worse",
                                  options.server.text()));
}

Fd connect_once(const TcpStore::Options& options, Deadline deadline) {
  std::string reasons;
  for (const auto& address : resolve(options.server)) {
    try {
      Fd socket = connect_to(address, deadline);
      tune_for_messages(socket.get());
      shake_hands(socket.get(), options, deadline);
      return socket;
    } catch (const TransportError& error) {
      reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  throw TransportError(reasons);
}

}  // namespace

Fd connect_to_store(const TcpStore::Options& options, Deadline deadline) {
  for (Seconds pause = 0.01;; pause = std::min(2 * pause, 0.5)) {
    const auto attempt = Deadline::after(std::min(kHandshake, deadline.remaining()));
    try {
      return connect_once(options, attempt);
    } catch (const TransportError& error) {
      if (deadline.remaining() <= pause)
        throw Timeout(fmt::format("the store at {}{} could not be reached in time: {}", options.server.text(),
                                  options.host < 0 ? "" : fmt::format(", hosted by rank {},", options.host),
                                  error.what()));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

}  // namespace gradwire
