// A copy meant for another core: the bytes go past this core's caches to memory, where the other core's
// prefetcher finds them. Handing over dirty cache lines instead costs a probe of this core for each line:
// between distant cores that is five to seven times slower from a few KiB up. Between cores that share a
// cache an ordinary copy is twice as fast instead.
#pragma once

#include <cstddef>

namespace gradwire {

// memcpy otherwise. What it wrote is visible to whoever sees a store that this thread makes with release
// order later.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace gradwire
