// Sees to it that no call of MPI's lasts for ever, nor for a rank that is dead. MPI can't be told to give up a call: when one
// outlasts its timeout, or stands still while another rank's process is gone, this process says for whom it waited
// and ends with code 1, and mpirun ends the others. So it is the one place of the library that ends a process. Between
// calls a rank that is dead is only named. A call costs a few stores to atomics; a thread looks at them now and then,
// and touches MPI never.
//
// What goes on after main(), where MPI says goodbye, is guarded by guard_exit() instead.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/deadline.h"
#include "net/world.h"

namespace gradwire {

class MpiWatchdog {
 public:
  explicit MpiWatchdog(const World& world);  // the store of the world is borrowed with it
  ~MpiWatchdog();
  MpiWatchdog(const MpiWatchdog&) = delete;
  MpiWatchdog& operator=(const MpiWatchdog&) = delete;

  // While it lives, a call is under way. All ranks make the same calls in one order, by which they are numbered.
  class Watched {
   public:
    Watched(MpiWatchdog& dog, const char* what, Seconds timeout) : dog_(dog) { dog_.enter(what, timeout); }
    ~Watched() { dog_.leave(); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

   private:
    MpiWatchdog& dog_;
  };
  // `timeout` 0: the world's.
  Watched during(const char* what, Seconds timeout = 0) { return {*this, what, timeout}; }

  // A rank whose process is gone, as far as can be seen from this host. Asks the store; any thread.
  std::optional<Rank> find_dead() const;

 private:
  void enter(const char* what, Seconds timeout) {
    what_.store(what, std::memory_order_relaxed);
    patience_.store(timeout > 0 ? timeout : world_.timeout, std::memory_order_relaxed);
    moves_.fetch_add(1, std::memory_order_release);
  }
  void leave() { moves_.fetch_add(1, std::memory_order_release); }
  void look();
  void check_call(std::uint64_t call, Deadline deadline);
  void tell_of_dead();
  [[noreturn]] void end_process(const std::string& why) const;
  std::string missing_ranks(std::uint64_t call) const;
  bool is_dead(Rank rank, Deadline answer) const;

  const World world_;
  const std::string host_ = host_identity();
  std::atomic<std::uint64_t> moves_{0};  // odd: a call is under way
  std::atomic<const char*> what_{""};
  std::atomic<Seconds> patience_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;            // under mutex_
  std::optional<Rank> told_of_;  // the looker's
  std::thread looker_;           // last: it uses all of the above
};

// The process ends with `status` when what it does from now on takes longer.
void guard_exit(int status, Seconds timeout);

}  // namespace gradwire
