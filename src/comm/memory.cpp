#include "comm/memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace gradwire {

Memory allocate_private(std::size_t bytes) {
  constexpr std::size_t kLargePage = 2 << 20;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* place = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw_system_error(fmt::format("no room for {} bytes", bytes));
  if (size >= kLargePage) ::madvise(place, size, MADV_HUGEPAGE);
  ::madvise(place, size, MADV_POPULATE_WRITE);  // older kernels fault the pages on first touch instead
  return {{static_cast<std::byte*>(place), bytes},
          std::shared_ptr<void>(place, [size](void* p) { ::munmap(p, size); })};
}

}  // namespace gradwire
