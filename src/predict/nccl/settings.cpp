#include "predict/nccl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "topo/node_spec.h"

namespace gradwire {
namespace {

template <typename Value, std::size_t n>
std::optional<Value> find_named(const std::array<Value, n>& all, const std::string& name) {
  for (const Value value : all)
    if (lower_case(to_string(value)) == lower_case(name)) return value;
  return std::nullopt;
}

constexpr std::array kNcclAlgorithms = {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls,
                                        NcclAlgorithm::nvls_tree};
constexpr std::array kProtocols = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

// Those that are not modelled, as NCCL names them.
constexpr std::array<std::string_view, 3> kOtherAlgorithms = {"collnetdirect", "collnetchain", "pat"};

constexpr std::array kFunctions = {Collective::broadcast, Collective::reduce, Collective::all_gather,
                                   Collective::reduce_scatter, Collective::all_reduce};

using Variable = std::pair<const std::string, std::string>;

[[noreturn]] void refuse(const Variable& variable, const std::vector<std::string>& known) {
  throw ConfigError(
      fmt::format("{}={}: NCCL takes {} here", variable.first, variable.second, join(known, ", ")));
}

// "AllReduce" as NCCL calls all_reduce; empty: all of them.
std::vector<Collective> functions_called(std::string_view word, const Variable& variable) {
  if (word.empty()) return {kFunctions.begin(), kFunctions.end()};
  std::vector<std::string> known;
  for (const Collective kind : kFunctions) {
    known.emplace_back(name_of(kind));
    std::erase(known.back(), '_');
    if (lower_case(word) == known.back()) return {kind};
  }
  refuse(variable, known);
}

// "ring,tree" are those that are left, "^ring" all but it.
template <typename Value, std::size_t n>
std::vector<Value> left_by(std::string_view list, const std::array<Value, n>& all, const Variable& variable,
                           std::span<const std::string_view> others) {
  const bool but = list.starts_with('^');
  if (but) list.remove_prefix(1);
  std::vector<Value> named, left;
  for (const auto part : split(list, ',')) {
    const std::string word = lower_case(trim(part));
    if (const auto value = find_named(all, word)) {
      named.push_back(*value);
    } else if (std::ranges::find(others, word) == others.end()) {
      std::vector<std::string> known;
      for (const Value one : all) known.emplace_back(to_string(one));
      known.insert(known.end(), others.begin(), others.end());
      refuse(variable, known);
    }
  }
  for (const Value value : all)
    if ((std::ranges::find(named, value) == named.end()) == but) left.push_back(value);
  return left;
}

// As NCCL reads its lists (tuning.cc, parseList): for all functions, or "allreduce:tree;broadcast:ring". Names of what is not
// modelled leave nothing.
template <typename Value, std::size_t n>
Allowed<Value> allowed_by(const Variable& variable, const std::array<Value, n>& all,
                          std::span<const std::string_view> others = {}) {
  Allowed<Value> allowed;
  for (const auto part : split(variable.second, ';')) {
    const auto colon = part.find(':');
    const auto function = colon == std::string_view::npos ? "" : trim(part.substr(0, colon));
    const auto left = left_by(trim(part.substr(colon + 1)), all, variable, others);
    for (const Collective kind : functions_called(function, variable)) allowed.only(kind, left);
  }
  return allowed;
}

// Words of NCCL's documentation, or its older numbers (paths.cc, levelsOldToNew): LOC, PIX, PXB, PHB, and SYS from 4 on.
std::optional<PathClass> level(const std::string& name, const std::string& value) {
  if (const auto number = find_integer<int>(trim(value)))
    return *number <= 0 ? PathClass::self : *number >= 4 ? PathClass::sys : PathClass(*number + 3);
  const std::string word = lower_case(trim(value));
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

void apply(const Variable& variable, NcclSettings& settings) {
  const auto& [name, value] = variable;
  if (name == "NCCL_P2P_DISABLE") settings.p2p_disabled = flag(name, value);
  if (name == "NCCL_NVLS_ENABLE") settings.nvls = flag(name, value);
  if (name == "NCCL_SHM_DISABLE") settings.shm_disabled = flag(name, value);
  if (name == "NCCL_SHM_USE_CUDA_MEMCPY") settings.copy_engine = flag(name, value);
  if (name == "NCCL_P2P_LEVEL") settings.p2p_level = level(name, value);
  if (name == "NCCL_MIN_NCHANNELS") settings.least_channels = positive<int>(name, value);
  if (name == "NCCL_MAX_NCHANNELS") settings.most_channels = positive<int>(name, value);
  if (name == "NCCL_BUFFSIZE") settings.buffer = positive<Bytes>(name, value);
  if (name == "NCCL_NET_GDR_LEVEL") settings.gpudirect_level = level(name, value);
  if (name == "NCCL_ALGO") settings.algorithms = allowed_by(variable, kNcclAlgorithms, kOtherAlgorithms);
  if (name == "NCCL_PROTO") settings.protocols = allowed_by(variable, kProtocols);
  if (name == "NCCL_VERSION") settings.version = find_nccl_version(value);
}

}  // namespace

NcclSettings nccl_settings(const std::map<std::string, std::string>& environment) {
  NcclSettings settings;
  for (const auto& variable : environment) {
    if (trim(variable.second).empty()) continue;
    const NcclSettings before = settings;
    apply(variable, settings);
    const bool told = variable.first != "NCCL_VERSION";
    if (told && settings != before) settings.stated.push_back(variable.first + "=" + variable.second);
  }
  if (settings.p2p_level == PathClass::self) settings.p2p_disabled = true;
  return settings;
}

std::map<std::string, std::string> nccl_environment() {
  std::map<std::string, std::string> environment;
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_ALGO",
                           "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_NET_GDR_LEVEL", "NCCL_MIN_NCHANNELS",
                           "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_SHM_USE_CUDA_MEMCPY", "NCCL_VERSION"})
    if (const char* value = std::getenv(name)) environment[name] = value;
  return environment;
}

NcclSettings nccl_settings_here() { return nccl_settings(nccl_environment()); }

std::string_view to_string(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 4> kNames = {"Ring", "Tree", "NVLS", "NVLSTree"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view to_string(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames.at(static_cast<std::size_t>(protocol));
}

}  // namespace gradwire
