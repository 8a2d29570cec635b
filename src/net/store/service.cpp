#include "net/store/service.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

constexpr std::uint64_t kListener = 0, kStop = 1, kFirstConnection = 2;

}  // namespace

StoreService::StoreService(Fd listener, std::string secret, const StoreServer::Limits& limits)
    : secret_(std::move(secret)),
      limits_(limits),
      strangers_limit_(stranger_limit(limits.strangers)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      listener_(std::move(listener)),
      next_id_(kFirstConnection) {
  if (!epoll_) throw_system_error("epoll_create1");
  watch(EPOLL_CTL_ADD, listener_.get(), kListener, EPOLLIN);
}

void StoreService::watch(int operation, int fd, Id id, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0) throw_system_error("epoll_ctl");
}

void StoreService::run(int stop) {
  watch(EPOLL_CTL_ADD, stop, kStop, EPOLLIN);
  for (;;) {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   milliseconds_until_next_expiry());
    if (count < 0 && errno != EINTR) throw_system_error("epoll_wait");
    for (int i = 0; i < count; ++i) {
      const Id id = events[i].data.u64;
      if (id == kStop) return;
      if (id == kListener) {
        accept_all();
      } else if (const auto found = connections_.find(id); found != connections_.end()) {
        serve(found->second, events[i].events);
      }
    }
    expire_strangers();
    close_doomed();
  }
}

void StoreService::accept_all() {
  for (;;) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      welcome(std::move(socket));
      continue;
    }
    const int error = errno;
    if (out_of_descriptors(error) && !drop_oldest_stranger() && accepting_) {
      accepting_ = false;
      watch(EPOLL_CTL_DEL, listener_.get(), kListener, 0);
    }
    if (error != EINTR && error != ECONNABORTED) return;
  }
}

void StoreService::welcome(Fd socket) {
  const Id id = next_id_++;
  watch(EPOLL_CTL_ADD, socket.get(), id, EPOLLIN);
  const auto deadline = Deadline::after(limits_.handshake);
  auto& connection = connections_.try_emplace(id, id, std::move(socket), deadline).first->second;
  strangers_.push_back(id);
  if (strangers_.size() > strangers_limit_) drop_oldest_stranger();
  send(connection, Greeting{connection.nonce}.encode());
}

// Whatever is wrong with one connection ends that connection alone.
void StoreService::serve(Connection& connection, std::uint32_t events) {
  try {
    if ((events & EPOLLOUT) != 0) flush(connection);
    if ((events & ~EPOLLOUT) != 0 && !connection.closing) read(connection);
  } catch (const std::exception&) {
    doom(connection);
  }
}

// One block at a time: a client that sends without end does not keep the others from being served.
void StoreService::read(Connection& connection) {
  std::array<char, 1 << 16> block;
  const auto got = ::recv(connection.socket.get(), block.data(), block.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return doom(connection);
  connection.in.append({block.data(), static_cast<std::size_t>(got)});
  while (!connection.closing && !connection.doomed) {
    const auto message = connection.in.next(connection.member ? kMaxFrame : kMaxStrangerFrame);
    if (!message) return;
    receive(connection, *message);
  }
}

void StoreService::receive(Connection& connection, const std::string& message) {
  if (connection.member) {
    answer(table_.serve(connection.id, connection.who.space, Request::decode(message)));
    return;
  }
  const auto claim = Claim::decode(message);
  judge(connection, claim);
  if (connection.member) std::erase(strangers_, connection.id);
  ProofVerdict verdict;
  if (connection.member)
    verdict.proof = server_proof(secret_, connection.nonce, claim.nonce);
  else
    verdict.reason = "the secret is not the same";
  send(connection, verdict.encode());
}

void StoreService::judge(Connection& connection, const Claim& claim) {
  const auto expected = client_proof(secret_, connection.nonce, claim.nonce, claim.who);
  connection.member = same(claim.proof, expected) && claim.who.space.size() <= kMaxSpace;
  connection.closing = !connection.member;
  connection.who = claim.who;
  if (connection.member) tune_for_messages(connection.socket.get());
}

void StoreService::answer(const std::vector<StoreTable::Answer>& answers) {
  for (const auto& [to, reply] : answers)
    if (const auto found = connections_.find(to); found != connections_.end())
      send(found->second, reply.encode());
}

void StoreService::send(Connection& connection, std::string_view content) {
  connection.out += frame(content);
  flush(connection);
}

void StoreService::flush(Connection& connection) {
  auto& out = connection.out;
  while (!out.empty()) {
    const auto sent = ::send(connection.socket.get(), out.data(), out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return doom(connection);
    if (sent < 0) break;
    out.erase(0, static_cast<std::size_t>(sent));
  }
  if (out.size() > limits_.unread_bytes || (out.empty() && connection.closing)) return doom(connection);
  watch_output(connection, !out.empty());
}

void StoreService::watch_output(Connection& connection, bool wanted) {
  if (connection.watches_output == wanted) return;
  connection.watches_output = wanted;
  watch(EPOLL_CTL_MOD, connection.socket.get(), connection.id, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void StoreService::doom(Connection& connection) {
  if (!connection.doomed) doomed_.push_back(connection.id);
  connection.doomed = true;
}

// Closing one may fill up and doom another, hence the loop.
void StoreService::close_doomed() {
  while (!doomed_.empty()) {
    const Id id = doomed_.back();
    doomed_.pop_back();
    if (connections_.contains(id)) close(id);
  }
}

void StoreService::close(Id id) {
  const auto connection = connections_.extract(id);
  const auto& who = connection.mapped().who;
  std::erase(strangers_, id);
  table_.forget(id);
  if (!accepting_) watch(EPOLL_CTL_ADD, listener_.get(), kListener, EPOLLIN);
  accepting_ = true;
  if (!connection.mapped().member || who.rank < 0 || is_here(who)) return;
  if (table_.has(who.space, fmt::format("left/{}", who.rank))) return;
  answer(table_.set(who.space, fmt::format("lost/{}", who.rank), "its connection to the store is closed"));
  if (!table_.has(who.space, "lost/earliest"))
    answer(table_.set(who.space, "lost/earliest", std::to_string(who.rank)));
}

bool StoreService::is_here(const Introduction& who) const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [&](const auto& entry) { return entry.second.member && entry.second.who == who; });
}

void StoreService::expire_strangers() {
  for (const Id id : strangers_) {
    auto& stranger = connections_.at(id);
    if (!stranger.handshake.passed()) return;
    doom(stranger);
  }
}

bool StoreService::drop_oldest_stranger() {
  if (strangers_.empty()) return false;
  close(strangers_.front());
  return true;
}

int StoreService::milliseconds_until_next_expiry() const {
  return strangers_.empty() ? -1 : connections_.at(strangers_.front()).handshake.remaining_ms();
}

}  // namespace gradwire
