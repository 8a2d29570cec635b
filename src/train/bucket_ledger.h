// The book a Reducer keeps of one backward, by which it executes its rank's tasks of the step graph (sched/ddp_step.h): which
// gradients have come, which bucket the last of them completed, which bucket leaves next and what the update waits for. The
// graph says in which order buckets leave and after what, the same on every rank; the book says what has ended. So a bucket
// leaves once, complete, and after those before it. Plain data without torch; belongs to one thread at a time.
//
// A backward that fails half way leaves the book as it stands; the next begin() starts a new page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sched/buckets.h"
#include "sched/ddp_step.h"

namespace gradwire {

class BucketLedger {
 public:
  enum class Gradient : char { awaited, here, absent };

  explicit BucketLedger(std::vector<std::string> parameters);  // their names, for what it refuses

  // The buckets of the backwards that follow, and a rank's tasks of a step with these buckets: its last backward is what
  // is noted here, whatever was added up before. Parameters that are in no bucket are not awaited.
  void lay_out(std::span<const Bucket> layout, std::vector<Task> step);

  void begin();  // a new backward

  // Says what became of an awaited gradient; gives the bucket it completes, if it does. Throws ConfigError when
  // the parameter is in no bucket, or has been noted in this backward already.
  std::optional<int> note(int parameter, Gradient what);

  // Throws ConfigError for a parameter that is in no bucket.
  void check_awaited(int parameter) const;

  // A backward that this rank has no part in: every bucket is complete at once.
  void note_all_absent();

  // The bucket to launch now: that of the first collective that has not begun, if all that it comes after has ended. It
  // counts as left.
  std::optional<int> take_next();
  // What the update comes after, in the order of the graph.
  const std::vector<int>& awaited_by_update() const { return awaited_by_update_; }

  Gradient of(int parameter) const { return gradients_[static_cast<std::size_t>(parameter)]; }
  std::vector<int> awaited() const;  // in buckets, and not yet noted
  int buckets() const { return static_cast<int>(missing_.size()); }
  int left() const { return static_cast<int>(next_); }      // so many buckets
  const std::vector<int>& order() const { return order_; }  // parameters as they were noted

 private:
  void read_step();
  int bucket_of(const Task& task) const { return gradwire::bucket_of(task, buckets()); }
  void complete(std::size_t bucket) { ended_[static_cast<std::size_t>(backward_[bucket])] = true; }

  const std::vector<std::string> names_;
  // Of the layout:
  std::vector<int> bucket_of_;          // -1: in none
  std::vector<int> members_;            // so many, by bucket
  std::vector<Task> step_;              // as the graph has it
  std::vector<int> departures_;         // the collectives among them
  std::vector<int> backward_;           // by bucket: the task that makes its gradients
  std::vector<int> awaited_by_update_;  // buckets
  std::vector<char> ended_before_;      // by task: when the backward begins
  // Of the backward that goes on:
  std::vector<Gradient> gradients_;
  std::vector<int> order_;
  std::vector<int> missing_;  // by bucket
  std::vector<char> ended_;   // by task
  std::size_t next_ = 0;      // of departures_
};

}  // namespace gradwire
