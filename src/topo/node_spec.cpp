#include "topo/node_spec.h"

#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::array<std::pair<Intra, std::string_view>, 4> kIntras = {{{Intra::nvswitch, "nvswitch"},
                                                                        {Intra::nvlink_mesh, "nvlink-mesh"},
                                                                        {Intra::nvlink_pairs, "nvlink-pairs"},
                                                                        {Intra::pcie, "pcie"}}};
constexpr std::array<std::pair<CpuMaker, std::string_view>, 5> kMakers = {{{CpuMaker::amd, "amd"},
                                                                           {CpuMaker::intel, "intel"},
                                                                           {CpuMaker::power, "power"},
                                                                           {CpuMaker::grace, "grace"},
                                                                           {CpuMaker::unknown, "unknown"}}};

template <typename T, std::size_t N>
std::string_view name_of(const std::array<std::pair<T, std::string_view>, N>& names, T value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "?";
}

template <typename T, std::size_t N>
std::optional<T> find_named(const std::array<std::pair<T, std::string_view>, N>& names,
                            std::string_view text) {
  for (const auto& [known, name] : names)
    if (name == text) return known;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Intra intra) { return name_of(kIntras, intra); }
std::string_view to_string(CpuMaker maker) { return name_of(kMakers, maker); }
std::optional<Intra> find_intra(std::string_view text) { return find_named(kIntras, text); }
std::optional<CpuMaker> find_cpu_maker(std::string_view text) { return find_named(kMakers, text); }

std::optional<int> find_nccl_version(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view behind = text.substr(dot + 1);
  const auto end = behind.find_first_not_of("0123456789");
  if (end != std::string_view::npos && std::isalpha(static_cast<unsigned char>(behind[end])) != 0)
    return std::nullopt;  // "2.1x"
  const auto major = find_integer<int>(text.substr(0, dot));
  const auto minor = find_integer<int>(behind.substr(0, end));
  const bool possible = major && minor && *major >= 1 && *major < 100 && *minor < 100;
  return possible ? std::optional(*major * 100 + *minor) : std::nullopt;
}

}  // namespace gradwire
