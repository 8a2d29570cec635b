// The marks by which calls of sharded units are told apart: from each other, from other wrappers', and, in a rehearsal, those
// which shared memory has no need of. The unit's number is added to them.
#pragma once

#include <cstdint>

namespace gradwire {

inline constexpr std::uint32_t kGatherTag = 0x53000000u;   // of a unit that is kept whole
inline constexpr std::uint32_t kReduceTag = 0x54000000u;   // of its gradients
inline constexpr std::uint32_t kShowTag = 0x55000000u;     // all meet: shares are what they shall be
inline constexpr std::uint32_t kReleaseTag = 0x56000000u;  // all meet: nobody uses units any more
inline constexpr std::uint32_t kFetchTag = 0x57000000u;    // a gather of a unit that comes and goes

constexpr bool is_fetch(std::uint32_t tag) { return (tag & 0xff000000u) == kFetchTag; }

}  // namespace gradwire
