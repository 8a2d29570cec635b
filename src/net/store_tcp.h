// A client of a StoreServer. Any thread may call; calls of several threads share the connection, and one that
// waits costs no time of a core. After the connection broke every call throws; so does every call of a
// process that was forked from the one that connected, because two can't share a connection.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "net/address.h"
#include "net/store.h"
#include "net/store_wire.h"

namespace gradwire {

class TcpStore : public Store {
 public:
  struct Options {
    HostPort server;
    std::string secret;
    Introduction who;
    Rank host = -1;         // the rank in whose process the server runs, if any: PeerLost names it
    Seconds timeout = 300;  // of set(), add() and find()
  };

  // Tries until the server lets it in or the deadline passes: it may not listen yet. Throws ConfigError when
  // the secret is wrong or the server is something else, Timeout with the last reason otherwise.
  TcpStore(Options options, Deadline deadline);

  void set(std::string_view key, std::string_view value) override;
  std::string get(std::string_view key, Deadline) override;
  std::int64_t add(std::string_view key, std::int64_t amount) override;
  std::string find(std::string_view key) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  std::string call(Request request, Deadline deadline);
  std::optional<Reply> wait_for_reply(Lock& lock, std::uint64_t number, Deadline deadline);
  void send(std::string_view bytes, Deadline deadline);
  void take_turn_reading(Lock& lock, Deadline deadline);
  void read_available();
  void deliver(Reply reply);
  [[noreturn]] void fail(const std::string& reason);
  void throw_if_broken() const;

  const Options options_;
  const int process_;
  const Fd socket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, std::optional<Reply>> pending_;  // the calls under way
  FrameReader in_;
  bool someone_reads_ = false;  // one waiting thread at a time watches the socket for all of them
  std::string broken_;          // why, once it is
};

}  // namespace gradwire
