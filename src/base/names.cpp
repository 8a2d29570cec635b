#include "base/names.h"

#include "base/error.h"
#include "base/text.h"

namespace gradwire {

void refuse_choice(std::string_view flag, std::string_view text, const std::vector<std::string>& known) {
  throw ConfigError(fmt::format("{} '{:.40}': there are {}", flag, text, join(known, ", ")));
}

}  // namespace gradwire
