// A Timeout that knows for whom this rank waited: ranks by their numbers in the job. They may have waited themselves
// (net/blame.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace gradwire {

class Overdue : public Timeout {
 public:
  Overdue(const std::string& what, std::vector<Rank> awaited) : Timeout(what), awaited_(std::move(awaited)) {}
  const std::vector<Rank>& awaited() const { return awaited_; }

 private:
  std::vector<Rank> awaited_;
};

// Nobody where the error does not say.
inline std::vector<Rank> awaited_in(const std::exception& error) {
  const auto* const overdue = dynamic_cast<const Overdue*>(&error);
  return overdue == nullptr ? std::vector<Rank>{} : overdue->awaited();
}

}  // namespace gradwire
