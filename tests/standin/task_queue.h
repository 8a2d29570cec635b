// Tasks that run one after another on a thread of their own: what a stream of the stand-in is. Any thread may
// post; the destructor lets the tasks already posted run to their end.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace standin {

class TaskQueue {
 public:
  TaskQueue() : thread_([this] { work(); }) {}

  ~TaskQueue() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void post(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }

  bool idle() {
    const std::lock_guard lock(mutex_);
    return tasks_.empty();
  }

  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
  }

 private:
  // A task stays at the head of the queue while it runs, so that an empty queue is an idle one.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      lock.unlock();
      task();
      task = nullptr;  // what it holds may take its time to end: not under the lock
      lock.lock();
      tasks_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_, as is the next
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace standin
