#include "base/fd.h"

#include <fcntl.h>

#include <utility>

namespace gradwire {

void fill_standard_descriptors() {
  constexpr std::pair<int, int> kFlags[] = {
      {STDIN_FILENO, O_RDONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}};
  for (const auto& [descriptor, flags] : kFlags)
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", flags);  // the lowest that is free
}

}  // namespace gradwire
