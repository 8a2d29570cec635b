#include "predict/nccl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <typename Value, std::size_t n>
std::optional<Value> find_named(const std::array<Value, n>& all, const std::string& name) {
  for (const Value value : all)
    if (lower(std::string(to_string(value))) == lower(name)) return value;
  return std::nullopt;
}

constexpr std::array kNcclAlgorithms = {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls,
                                        NcclAlgorithm::nvls_tree};
constexpr std::array kProtocols = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

// A list leaves the choice to NCCL; "^NAME" only excludes; names of algorithms we don't model count as no
// choice.
template <typename Value, std::size_t n>
std::optional<Value> only_choice(const std::array<Value, n>& all, const std::string& text) {
  if (text.find_first_of(",;:^") != std::string::npos) return std::nullopt;
  return find_named(all, text);
}

bool flag(const std::string& name, const std::string& value) {
  const auto number = find_integer<int>(trim(value));
  if (!number) throw ConfigError(fmt::format("{}={}: NCCL takes 0 or 1 here", name, value));
  return *number != 0;
}

}  // namespace

NcclSettings nccl_settings(const std::map<std::string, std::string>& environment) {
  NcclSettings settings;
  for (const auto& [name, value] : environment) {
    if (name == "NCCL_P2P_DISABLE") settings.p2p_disabled = flag(name, value);
    if (name == "NCCL_NVLS_ENABLE") settings.nvls = flag(name, value);
    if (name == "NCCL_P2P_LEVEL" && lower(value) == "loc") settings.p2p_disabled = true;
    if (name == "NCCL_NET_GDR_LEVEL" && (lower(value) == "loc" || value == "0")) settings.gpudirect = false;
    if (name == "NCCL_ALGO") settings.algorithm = only_choice(kNcclAlgorithms, value);
    if (name == "NCCL_PROTO") settings.protocol = only_choice(kProtocols, value);
  }
  return settings;
}

std::string_view to_string(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return "Ring";
    case NcclAlgorithm::tree:
      return "Tree";
    case NcclAlgorithm::nvls:
      return "NVLS";
    case NcclAlgorithm::nvls_tree:
      return "NVLSTree";
  }
  return "";
}

std::string_view to_string(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::ll:
      return "LL";
    case NcclProtocol::ll128:
      return "LL128";
    case NcclProtocol::simple:
      return "Simple";
  }
  return "";
}

}  // namespace gradwire
