#include "predict/nccl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <span>

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

// Those that are not modelled, as NCCL names them.
constexpr std::array<std::string_view, 3> kOtherAlgorithms = {"collnetdirect", "collnetchain", "pat"};

// "ring,tree", "^ring", "allreduce:tree;broadcast:ring": every name must be one of NCCL's.
template <typename Value, std::size_t n>
void check_names(const std::array<Value, n>& all, const std::pair<const std::string, std::string>& variable,
                 std::span<const std::string_view> others = {}) {
  for (const auto part : split(variable.second, ';'))
    for (std::string_view name : split(part.substr(part.find(':') + 1), ',')) {
      name = trim(name);
      if (name.starts_with('^')) name.remove_prefix(1);
      const std::string word = lower(std::string(name));
      if (find_named(all, word) || std::find(others.begin(), others.end(), word) != others.end()) continue;
      std::vector<std::string> known;
      for (const Value value : all) known.emplace_back(to_string(value));
      known.insert(known.end(), others.begin(), others.end());
      throw ConfigError(
          fmt::format("{}={}: NCCL takes {} here", variable.first, variable.second, join(known, ", ")));
    }
}

// A list leaves the choice to NCCL; "^NAME" only excludes; names of algorithms we don't model count as no
// choice.
template <typename Value, std::size_t n>
std::optional<Value> only_choice(const std::array<Value, n>& all, const std::string& text) {
  if (text.find_first_of(",;:^") != std::string::npos) return std::nullopt;
  return find_named(all, std::string(trim(text)));
}

// Words of NCCL's documentation, or its own numbers (graph.h, 117-154): peer access up to that distance.
std::optional<PathClass> level(const std::string& name, const std::string& value) {
  if (const auto number = find_integer<int>(trim(value)))
    return *number <= 0 ? PathClass::self : *number >= 5 ? PathClass::sys : PathClass(*number + 3);
  const std::string word = lower(std::string(trim(value)));
  if (word == "loc") return PathClass::self;
  if (const auto known = find_path_class(word)) return known;
  throw ConfigError(fmt::format("{}={}: NCCL takes LOC, NVL, PIX, PXB, PHB or SYS here", name, value));
}

template <typename Number>
Number positive(const std::string& name, const std::string& value) {
  const auto number = find_integer<long>(trim(value));
  if (!number || *number < 1)
    throw ConfigError(fmt::format("{}={}: NCCL takes a number from 1", name, value));
  return static_cast<Number>(*number);
}

bool flag(const std::string& name, const std::string& value) {
  const auto number = find_integer<int>(trim(value));
  if (!number) throw ConfigError(fmt::format("{}={}: NCCL takes 0 or 1 here", name, value));
  return *number != 0;
}

void apply(const std::pair<const std::string, std::string>& variable, NcclSettings& settings) {
  const auto& [name, value] = variable;
  if (name == "NCCL_P2P_DISABLE") settings.p2p_disabled = flag(name, value);
  if (name == "NCCL_NVLS_ENABLE") settings.nvls = flag(name, value);
  if (name == "NCCL_SHM_DISABLE") settings.shm_disabled = flag(name, value);
  if (name == "NCCL_SHM_USE_CUDA_MEMCPY") settings.copy_engine = flag(name, value);
  if (name == "NCCL_P2P_LEVEL") settings.p2p_level = level(name, value);
  if (name == "NCCL_MIN_NCHANNELS") settings.least_channels = positive<int>(name, value);
  if (name == "NCCL_MAX_NCHANNELS") settings.most_channels = positive<int>(name, value);
  if (name == "NCCL_BUFFSIZE") settings.buffer = positive<Bytes>(name, value);
  if (name == "NCCL_NET_GDR_LEVEL" && (lower(value) == "loc" || value == "0")) settings.gpudirect = false;
  if (name == "NCCL_ALGO") {
    check_names(kNcclAlgorithms, variable, kOtherAlgorithms);
    settings.algorithm = only_choice(kNcclAlgorithms, value);
  }
  if (name == "NCCL_PROTO") {
    check_names(kProtocols, variable);
    settings.protocol = only_choice(kProtocols, value);
  }
}

}  // namespace

NcclSettings nccl_settings(const std::map<std::string, std::string>& environment) {
  NcclSettings settings;
  for (const auto& variable : environment) {
    const NcclSettings before = settings;
    apply(variable, settings);
    if (settings != before) settings.stated.push_back(variable.first + "=" + variable.second);
  }
  if (settings.p2p_level == PathClass::self) settings.p2p_disabled = true;
  return settings;
}

std::optional<std::string> find_environment_note(const NcclSettings& settings) {
  if (settings.stated.empty()) return std::nullopt;
  return fmt::format("the environment sets {}: collectives are priced as NCCL runs them with it",
                     join(settings.stated, ", "));
}

std::map<std::string, std::string> nccl_environment() {
  std::map<std::string, std::string> environment;
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_ALGO",
                           "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_NET_GDR_LEVEL", "NCCL_MIN_NCHANNELS",
                           "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_SHM_USE_CUDA_MEMCPY"})
    if (const char* value = std::getenv(name)) environment[name] = value;
  return environment;
}

NcclSettings nccl_settings_here() { return nccl_settings(nccl_environment()); }

std::optional<int> find_nccl_version(const std::string& text) {
  const auto dot = text.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto major = find_integer<int>(text.substr(0, dot));
  const auto minor = find_integer<int>(text.substr(dot + 1, text.find('.', dot + 1) - dot - 1));
  if (!major || !minor) return std::nullopt;
  return *major * 100 + *minor;
}

std::string_view to_string(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 4> kNames = {"Ring", "Tree", "NVLS", "NVLSTree"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view to_string(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames.at(static_cast<std::size_t>(protocol));
}

}  // namespace gradwire
