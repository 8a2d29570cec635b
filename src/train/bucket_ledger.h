// The book a Reducer keeps of one backward: which gradients have come, which bucket the last of them completed, and which
// bucket may leave. Buckets leave in their order, the same on every rank, each once and only when it is complete: a
// complete bucket waits for those before it. Plain data without torch; belongs to one thread at a time.
//
// A backward that fails half way leaves the book as it stands; the next begin() starts a new page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sched/buckets.h"

namespace gradwire {

class BucketLedger {
 public:
  enum class Gradient : char { awaited, here, absent };

  explicit BucketLedger(std::vector<std::string> parameters);  // their names, for what it refuses

  // The buckets of the backwards that follow. Parameters that are in none are not awaited.
  void lay_out(std::span<const Bucket> layout);

  void begin();  // a new backward

  // Says what became of an awaited gradient; gives the bucket it completes, if it does. Throws ConfigError when
  // the parameter is in no bucket, or has been noted in this backward already.
  std::optional<int> note(int parameter, Gradient what);

  // Throws ConfigError for a parameter that is in no bucket.
  void check_awaited(int parameter) const;

  // A backward that this rank has no part in: every bucket is complete at once.
  void note_all_absent();

  // The bucket to launch now: the first that has not left, if it is complete. It counts as left.
  std::optional<int> take_next();

  Gradient of(int parameter) const { return gradients_[static_cast<std::size_t>(parameter)]; }
  std::vector<int> awaited() const;  // in buckets, and not yet noted
  int buckets() const { return static_cast<int>(missing_.size()); }
  int left() const { return next_; }                        // so many buckets, the first ones
  const std::vector<int>& order() const { return order_; }  // parameters as they were noted

 private:
  const std::vector<std::string> names_;
  std::vector<int> bucket_of_;  // -1: in none
  std::vector<int> members_;    // so many, by bucket
  std::vector<Gradient> gradients_;
  std::vector<int> order_;
  std::vector<int> missing_;  // by bucket
  int next_ = 0;
};

}  // namespace gradwire
