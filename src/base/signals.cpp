#include <fmt/format.h>

#include <cstring>

#include "base/text.h"

namespace gradwire {

std::string describe_signal(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

}  // namespace gradwire
