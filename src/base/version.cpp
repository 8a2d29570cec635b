#include "base/version.h"

namespace gradwire {

std::string_view version() { return GRADWIRE_VERSION; }

}  // namespace gradwire
