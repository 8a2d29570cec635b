// How long ranks have had nothing left to do. Where all that run have ended their work nothing is left to wait for: one that
// does not end by itself is stopped, or hangs on its way out. Ranks wait for each other as long as the timeout, and end by
// themselves then; hence a little more. Belongs to one thread.
#pragma once

#include <optional>

#include "base/deadline.h"

namespace gradwire {

class Idleness {
 public:
  explicit Idleness(Seconds timeout) : patience_(timeout + kMore) {}

  // Whether it has lasted too long. Ask again and again with what is the case.
  bool is_enough(bool idle) {
    if (!idle) until_.reset();
    if (idle && !until_) until_ = Deadline::after(patience_);
    return until_ && until_->passed();
  }

 private:
  static constexpr Seconds kMore = 1;
  const Seconds patience_;
  std::optional<Deadline> until_;
};

}  // namespace gradwire
