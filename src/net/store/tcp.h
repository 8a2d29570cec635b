// A client of a StoreServer. Any thread may call; calls of several threads share the connection, and one that
// waits costs no time of a core. After the connection broke, or the server did not answer a call in time, every
// call throws at once; so does every call of a process that was forked from the one that connected, because two
// can't share a connection.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mutex.h"
#include "net/address/address.h"
#include "net/store/store.h"
#include "net/store/wire.h"

namespace gradwire {

class TcpStore : public Store {
 public:
  struct Options {
    HostPort server;
    std::string secret;
    Introduction who;
    Rank host = -1;         // the rank in whose process the server runs, if any: PeerLost names it
    Seconds timeout = 300;  // of all but get()
  };

  // Tries until the server lets it in or the deadline passes: it may not listen yet. Throws ConfigError when
  // the secret is wrong or the server is something else, Timeout with the last reason otherwise.
  TcpStore(Options options, Deadline deadline);

  void set(std::string_view key, std::string_view value, Deadline answer = Deadline::never()) override;
  std::string get(std::string_view key, Deadline) override;
  std::string offer(std::string_view key, std::string_view value,
                    Deadline answer = Deadline::never()) override;
  std::int64_t add(std::string_view key, std::int64_t amount, Deadline answer = Deadline::never()) override;
  std::string find(std::string_view key, Deadline answer = Deadline::never()) override;

 private:
  std::string call(Request request, Deadline deadline) EXCLUDES(mutex_);
  std::optional<Reply> wait_for_reply(std::uint64_t number, Deadline deadline) REQUIRES(mutex_);
  bool wait_unlocked(short events, Deadline deadline) REQUIRES(mutex_);
  std::optional<Reply> stop_waiting(const Request& get, Deadline patience) REQUIRES(mutex_);
  void send(std::string_view bytes, Deadline deadline) REQUIRES(mutex_);
  void send_some() REQUIRES(mutex_);
  void take_turn_reading(Deadline deadline) REQUIRES(mutex_);
  void read_available() REQUIRES(mutex_);
  void deliver(Reply reply) REQUIRES(mutex_);
  [[noreturn]] void fail(const std::string& reason) REQUIRES(mutex_);
  [[noreturn]] void throw_silent() const;
  void throw_if_broken() REQUIRES(mutex_);

  const Options options_;
  const int process_;
  const Fd socket_;

  mutable Mutex mutex_;
  Condition changed_;
  std::uint64_t next_number_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::optional<Reply>> pending_ GUARDED_BY(mutex_);  // the calls under way
  FrameReader in_ GUARDED_BY(mutex_);
  std::string out_
      GUARDED_BY(mutex_);  // requests the socket did not take yet, also of calls that have given up
  // One waiting thread at a time watches the socket for all of them.
  bool someone_reads_ GUARDED_BY(mutex_) = false;
  std::string broken_ GUARDED_BY(mutex_);   // why, once it is
  bool silent_ GUARDED_BY(mutex_) = false;  // it has not answered in time, and is not asked again
};

// How a client gets through a store's door: connects, does the handshake of wire.h, and tries again; see the constructor.
Fd connect_to_store(const TcpStore::Options& options, Deadline deadline);

}  // namespace gradwire
