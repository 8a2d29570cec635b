#include "net/store/tcp.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "net/address/socket.h"
#include "net/store/connect.h"

namespace gradwire {

TcpStore::TcpStore(Options options, Deadline deadline)
    : options_(std::move(options)), process_(::getpid()), socket_(connect_to_store(options_, deadline)) {}

void TcpStore::set(std::string_view key, std::string_view value) {
  call({Request::Kind::set, 0, 0, std::string(key), std::string(value)}, Deadline::after(options_.timeout));
}

std::string TcpStore::get(std::string_view key, Deadline deadline) {
  return call({Request::Kind::get, 0, 0, std::string(key), {}}, deadline);
}

std::int64_t TcpStore::add(std::string_view key, std::int64_t amount) {
  const auto sum =
      call({Request::Kind::add, 0, amount, std::string(key), {}}, Deadline::after(options_.timeout));
  return find_integer<std::int64_t>(sum).value_or(0);
}

std::string TcpStore::find(std::string_view key) {
  return call({Request::Kind::find, 0, 0, std::string(key), {}}, Deadline::after(options_.timeout));
}

std::string TcpStore::call(Request request, Deadline deadline) {
  if (request.key.size() + request.value.size() + 64 > kMaxFrame)
    throw Error(fmt::format("{} bytes are too many for the key '{:.60}' of the store: it takes {}",
                            request.value.size(), request.key, format_bytes(kMaxFrame)));
  check(process_ == ::getpid(), "a store is used by a process forked after it connected");
  const Lock lock(mutex_);
  throw_if_broken();
  request.number = next_number_++;
  pending_[request.number];
  send(frame(request.encode()), deadline);
  auto reply = wait_for_reply(request.number, deadline);
  if (!reply && request.kind == Request::Kind::get) reply = stop_waiting(request);
  pending_.erase(request.number);
  if (!reply) throw Timeout(fmt::format("the store at {} did not answer in time", options_.server.text()));
  if (!reply->ok) throw Error(reply->value);
  return reply->value;
}

// The value may be on its way just now, so the server has the last word.
std::optional<Reply> TcpStore::stop_waiting(const Request& get) {
  const auto deadline = Deadline::after(options_.timeout);
  send(frame(Request{Request::Kind::forget, get.number, 0, get.key, {}}.encode()), deadline);
  auto reply = wait_for_reply(get.number, deadline);
  if (!reply || reply->ok) return reply;
  pending_.erase(get.number);
  throw Timeout(fmt::format("nobody wrote the key '{}' to the store in time", get.key));
}

// All under the lock: the server always reads, so the bytes soon go.
void TcpStore::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_until_ready(socket_.get(), POLLOUT, deadline)) fail("it takes no more bytes");
    } else if (errno != EINTR) {
      fail(std::generic_category().message(errno));
    }
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

// The lock is released while waiting, so that others can send and find their replies. Whoever stops reading
// wakes the others: one of them goes on.
void TcpStore::take_turn_reading(Deadline deadline) {
  bool ready = false;
  std::exception_ptr trouble;
  someone_reads_ = true;
  mutex_.unlock();
  try {
    ready = wait_until_ready(socket_.get(), POLLIN, deadline);
  } catch (const TransportError&) {
    trouble = std::current_exception();
  }
  mutex_.lock();
  someone_reads_ = false;
  changed_.notify_all();
  if (trouble) std::rethrow_exception(trouble);
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

void TcpStore::throw_if_broken() const {
  if (broken_.empty()) return;
  if (options_.host < 0) throw TransportError(broken_);
  throw PeerLost(options_.host, fmt::format("rank {} is lost: {}", options_.host, broken_));
}

}  // namespace gradwire
