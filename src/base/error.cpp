#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace gradwire {

void throw_system_error(const std::string& what) {
  throw TransportError(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

}  // namespace gradwire
