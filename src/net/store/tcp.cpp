#include "net/store/tcp.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "net/address/socket.h"
#include "net/overdue.h"
#include "net/store/wire.h"

namespace gradwire {
namespace {

// What errors add to the server's place.
std::string hosted(const TcpStore::Options& options) {
  return options.host < 0 ? "" : fmt::format(", hosted by rank {},", options.host);
}

// A server that listens answers at once; one that takes longer may be something else that says nothing.
constexpr Seconds kHandshake = 10;
constexpr Seconds kLastWord = 1;  // at least, for the answer that a value did not come in time

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

TcpStore::TcpStore(Options options, Deadline deadline)
    : options_(std::move(options)), process_(::getpid()), socket_(connect_to_store(options_, deadline)) {}

void TcpStore::set(std::string_view key, std::string_view value, Deadline answer) {
  call({Request::Kind::set, 0, 0, std::string(key), std::string(value)}, answer);
}

std::string TcpStore::get(std::string_view key, Deadline deadline) {
  return call({Request::Kind::get, 0, 0, std::string(key), {}}, deadline);
}

std::string TcpStore::offer(std::string_view key, std::string_view value, Deadline answer) {
  return call({Request::Kind::offer, 0, 0, std::string(key), std::string(value)}, answer);
}

std::int64_t TcpStore::add(std::string_view key, std::int64_t amount, Deadline answer) {
  const auto sum = call({Request::Kind::add, 0, amount, std::string(key), {}}, answer);
  return find_integer<std::int64_t>(sum).value_or(0);
}

std::string TcpStore::find(std::string_view key, Deadline answer) {
  return call({Request::Kind::find, 0, 0, std::string(key), {}}, answer);
}

std::string TcpStore::call(Request request, Deadline given) {
  if (request.key.size() + request.value.size() + 64 > kMaxFrame)
    throw Error(fmt::format("{} bytes are too many for the key '{:.60}' of the store: it takes {}",
                            request.value.size(), request.key, format_bytes(kMaxFrame)));
  check(process_ == ::getpid(), "a store is used by a process forked after it connected");
  const bool waits_for_key = request.kind == Request::Kind::get;
  const auto patience = Deadline::after(options_.timeout),
             deadline = waits_for_key ? given : std::min(given, patience);
  const Lock lock(mutex_);
  throw_if_broken();
  request.number = next_number_++;
  pending_[request.number];
  send(frame(request.encode()), deadline);
  auto reply = wait_for_reply(request.number, deadline);
  if (!reply && waits_for_key) reply = stop_waiting(request, patience);
  pending_.erase(request.number);
  if (!reply && (waits_for_key || !(given < patience))) silent_ = true;  // nobody waits for it once more
  if (!reply) throw_silent();
  if (!reply->ok) throw Error(reply->value);
  return reply->value;
}

// The value may be on its way just now, so the server has the last word; but one that is out of reach is not waited for twice.
std::optional<Reply> TcpStore::stop_waiting(const Request& get, Deadline patience) {
  const auto deadline = Deadline::after(std::max(kLastWord, patience.remaining()));
  send(frame(Request{Request::Kind::forget, get.number, 0, get.key, {}}.encode()), deadline);
  auto reply = wait_for_reply(get.number, deadline);
  if (!reply || reply->ok) return reply;
  pending_.erase(get.number);
  throw Timeout(fmt::format("nobody wrote the key '{}' to the store in time", get.key));
}

// A server that is well always reads, so the bytes soon go. What one that is not leaves over goes before the next request.
void TcpStore::send(std::string_view bytes, Deadline deadline) {
  out_ += bytes;
  send_some();
  while (!out_.empty() && wait_unlocked(POLLOUT, deadline)) {
    throw_if_broken();
    send_some();
  }
}

void TcpStore::send_some() {
  while (!out_.empty()) {
    const auto sent = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0 && errno != EINTR) fail(std::generic_category().message(errno));
    out_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
}

std::optional<Reply> TcpStore::wait_for_reply(std::uint64_t number, Deadline deadline) {
  const auto& reply = pending_.at(number);
  while (!reply && !deadline.passed()) {
    if (someone_reads_)
      changed_.wait_until(mutex_, deadline);
    else
      take_turn_reading(deadline);
    if (!reply) throw_if_broken();
  }
  return reply;
}

// The lock is released while waiting, so that others can send and find their replies.
bool TcpStore::wait_unlocked(short events, Deadline deadline) {
  bool ready = false;
  mutex_.unlock();
  try {
    ready = wait_until_ready(socket_.get(), events, deadline);
  } catch (const TransportError&) {  // of poll() itself: the deadline has to do
  }
  mutex_.lock();
  return ready;
}

// Whoever stops reading wakes the others: one of them goes on.
void TcpStore::take_turn_reading(Deadline deadline) {
  someone_reads_ = true;
  const bool ready = wait_unlocked(POLLIN, deadline);
  someone_reads_ = false;
  changed_.notify_all();
  if (ready) read_available();
}

void TcpStore::read_available() {
  std::array<char, 1 << 16> block;
  const auto got = ::recv(socket_.get(), block.data(), block.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) fail(std::generic_category().message(errno));
  if (got == 0) fail("its connection closed");
  in_.append({block.data(), static_cast<std::size_t>(got)});
  try {
    while (const auto message = in_.next(kMaxFrame)) deliver(Reply::decode(*message));
  } catch (const Malformed& error) {
    fail(error.what());
  }
}

// Who waited for it may have given up.
void TcpStore::deliver(Reply reply) {
  if (const auto found = pending_.find(reply.number); found != pending_.end())
    found->second = std::move(reply);
}

void TcpStore::fail(const std::string& reason) {
  broken_ = fmt::format("the store at {} is gone: {}", options_.server.text(), reason);
  throw_if_broken();
  throw TransportError(broken_);
}

void TcpStore::throw_silent() const {
  throw Overdue(
      fmt::format("the store at {}{} did not answer in time", options_.server.text(), hosted(options_)),
      options_.host < 0 ? std::vector<Rank>{} : std::vector<Rank>{options_.host});
}

void TcpStore::throw_if_broken() {
  if (silent_) throw_silent();
  if (broken_.empty()) return;
  if (options_.host < 0) throw TransportError(broken_);
  throw PeerLost(options_.host, fmt::format("rank {} is lost: {}", options_.host, broken_));
}

Fd connect_to_store(const TcpStore::Options& options, Deadline deadline) {
  for (Seconds pause = 0.01;; pause = std::min(2 * pause, 0.5)) {
    const auto attempt = Deadline::after(std::min(kHandshake, deadline.remaining()));
    try {
      return connect_once(options, attempt);
    } catch (const TransportError& error) {
      if (deadline.remaining() <= pause)
        throw Timeout(fmt::format("the store at {}{} could not be reached in time: {}", options.server.text(),
                                  hosted(options), error.what()));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

}  // namespace gradwire
