// std::mutex and std::condition_variable that clang's thread-safety analysis understands: members say
// GUARDED_BY(mutex_) and clang refuses code that touches them without it. With g++ the annotations vanish.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/deadline.h"

#if defined(__clang__)
#define GRADWIRE_THREAD(x) __attribute__((x))
#else
#define GRADWIRE_THREAD(x)
#endif

#define GUARDED_BY(x) GRADWIRE_THREAD(guarded_by(x))
#define REQUIRES(...) GRADWIRE_THREAD(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) GRADWIRE_THREAD(locks_excluded(__VA_ARGS__))

namespace gradwire {

class GRADWIRE_THREAD(capability("mutex")) Mutex {
 public:
  void lock() GRADWIRE_THREAD(acquire_capability()) { mutex_.lock(); }
  void unlock() GRADWIRE_THREAD(release_capability()) { mutex_.unlock(); }
  bool try_lock() GRADWIRE_THREAD(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

class GRADWIRE_THREAD(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) GRADWIRE_THREAD(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  Lock(Mutex& mutex, std::adopt_lock_t) REQUIRES(mutex) : mutex_(mutex) {}
  ~Lock() GRADWIRE_THREAD(release_capability()) { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False when the deadline has passed.
  bool wait_until(Mutex& mutex, Deadline deadline) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const auto status = condition_.wait_until(lock, deadline.time_point());
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace gradwire
