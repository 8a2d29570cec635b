#include "import/launches.h"

#include <algorithm>

namespace gradwire {

Launches::Launches(const Profile& profile) : profile_(profile) {
  for (std::uint32_t i = 0; i < profile.activities.size(); ++i)
    if (profile.activities[i].kind == ActivityKind::runtime && profile.activities[i].correlation >= 0)
      by_correlation_.emplace_back(profile.activities[i].correlation, i);
  std::sort(by_correlation_.begin(), by_correlation_.end());
}

const Activity* Launches::find(const Activity& activity) const {
  if (activity.correlation < 0) return nullptr;
  const auto found = std::lower_bound(by_correlation_.begin(), by_correlation_.end(),
                                      std::pair(activity.correlation, std::uint32_t{0}));
  if (found == by_correlation_.end() || found->first != activity.correlation) return nullptr;
  return &profile_.activities[found->second];
}

}  // namespace gradwire
