// The process-wide side of a store: one thread that listens, lets in clients that prove the secret, and keeps
// their keys. It dies with the object; clients then see their connection close.
//
// A connection that proves nothing changes nothing: it is closed when it says anything malformed or too long,
// when its proof is wrong, when its time for the handshake is over, or when too many other strangers came
// after it. The thread never waits for a client: one that doesn't read its replies is closed too.
//
// When the last client that introduced itself as rank r is gone, "lost/<r>" is set in its space, unless
// "left/<r>" was set before.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/units.h"
#include "net/address/address.h"

namespace gradwire {

class StoreServer {
 public:
  struct Limits {
    Seconds handshake = 10;
    std::size_t strangers = 256;           // connections that have proved nothing yet, see stranger_limit()
    std::size_t unread_bytes = 256 << 20;  // of replies to one client
  };

  // `listener` is what listen_at() made. Listening precedes the thread, so that a process can fork between
  // the two.
  StoreServer(Fd listener, std::string secret, const Limits& limits);
  StoreServer(Fd listener, std::string secret)
      : StoreServer(std::move(listener), std::move(secret), Limits{}) {}
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  const SocketAddress& address() const { return address_; }

 private:
  const SocketAddress address_;
  Fd stop_;  // an eventfd: readable when the thread is to end
  std::thread thread_;
};

}  // namespace gradwire
