#include <regex>
#include <string>

#include "predict/records/read.h"

namespace gradwire {

std::optional<Processor> processor_in(std::string_view text) {
  for (const Processor& cpu : all_processors())
    if (!text.empty() && !cpu.named.empty() &&
        std::regex_search(text.begin(), text.end(), std::regex(cpu.named)))
      return cpu;
  return std::nullopt;
}

// Sixteen published outputs of nccl-tests 2.17 and later have NCCL 2.26 to 2.30.
std::optional<std::string> nccl_version_in(std::string_view text) {
  static const std::regex kTests(R"(\bnccl-tests 2\.([0-9]{1,3}))");
  std::cmatch found;
  if (!std::regex_search(text.data(), text.data() + text.size(), found, kTests)) return std::nullopt;
  return std::stoi(found[1]) >= 17 ? std::optional<std::string>("2.26") : std::nullopt;
}

}  // namespace gradwire
