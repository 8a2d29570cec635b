// From what ran on the GPU back to the call of the runtime that started it. Borrows the profile.
#pragma once

#include <utility>
#include <vector>

#include "import/profile.h"

namespace gradwire {

class Launches {
 public:
  explicit Launches(const Profile&);
  const Activity* find(const Activity& on_gpu) const;  // null: the trace does not say

 private:
  const Profile& profile_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_correlation_;  // index into activities
};

}  // namespace gradwire
