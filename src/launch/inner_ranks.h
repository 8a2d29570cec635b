// The ranks that another program has started, mpirun say: which of its children is which rank, told by their environment, and
// who of them is gone. The program itself tells of a rank's death by its own end, which may be seconds later. Belongs
// to one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace gradwire {

class InnerRanks {
 public:
  // `variable` holds a child's rank.
  InnerRanks(pid_t starter, std::string variable) : starter_(starter), variable_(std::move(variable)) {}

  // Those that were there at an earlier look and are gone, each once.
  std::vector<Rank> look();
  const std::map<pid_t, Rank>& processes() const { return seen_; }  // that were there at the last look

 private:
  std::vector<pid_t> children() const;
  void remember(pid_t child);

  const pid_t starter_;
  const std::string variable_;
  std::map<pid_t, Rank> seen_;
};

}  // namespace gradwire
