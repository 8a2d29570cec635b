// What the thread of a StoreServer runs: the connections, their handshakes, and the loop over them. Belongs
// to that thread.
//
// A connection found bad in the middle of something is only marked; it is closed between events, because
// closing one may answer others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "net/store/server.h"
#include "net/store/table.h"
#include "net/store/wire.h"

namespace gradwire {

class StoreService {
 public:
  StoreService(Fd listener, std::string secret, const StoreServer::Limits& limits);

  // Serves until `stop` becomes readable.
  void run(int stop);

 private:
  using Id = StoreTable::Client;  // grows with each connection: the stranger with the smallest is the oldest

  struct Connection {
    Connection(Id number, Fd accepted, Deadline deadline)
        : id(number), socket(std::move(accepted)), handshake(deadline) {}
    const Id id;
    Fd socket;
    Deadline handshake;
    Nonce nonce = make_nonce();
    FrameReader in;
    std::string out;              // replies the socket did not take yet
    bool member = false;          // it proved the secret
    bool watches_output = false;  // epoll tells when the socket takes more
    bool closing = false;         // nothing is read any more; closed once `out` is sent
    bool doomed = false;          // to be closed between events
    Introduction who;
  };

  void accept_all();
  void welcome(Fd socket);
  void serve(Connection& connection, std::uint32_t events);
  void read(Connection& connection);
  void receive(Connection& connection, const std::string& message);
  void judge(Connection& connection, const Claim& claim);
  void answer(const std::vector<StoreTable::Answer>& answers);
  void send(Connection& connection, std::string_view content);
  void flush(Connection& connection);
  void watch_output(Connection& connection, bool wanted);
  void doom(Connection& connection);
  void close_doomed();
  void close(Id id);
  bool is_here(const Introduction& who) const;
  void expire_strangers();
  bool drop_oldest_stranger();
  int milliseconds_until_next_expiry() const;
  void watch(int operation, int fd, Id id, std::uint32_t events);

  const std::string secret_;
  const StoreServer::Limits limits_;
  const std::size_t strangers_limit_;  // of them, where the process may have but few descriptors less
  Fd epoll_, listener_;
  bool accepting_ = true;  // false while the process has no descriptor left for another connection
  StoreTable table_;
  std::map<Id, Connection> connections_;
  std::vector<Id> strangers_;  // oldest first
  std::vector<Id> doomed_;
  Id next_id_;
};

}  // namespace gradwire
