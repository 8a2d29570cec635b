#include "train/tensor/cut_name.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr int kMostParts = 1 << 20, kMostCutDimensions = 64;

// A number from 0 to below `end`.
std::optional<int> number_below(std::string_view text, int end) {
  const auto number = find_integer<int>(text);
  if (!number || *number < 0 || *number >= end) return std::nullopt;
  return number;
}

// "1-of-2 dim 0 blocks 3"
std::optional<TensorPart> find_part(std::string_view text) {
  const auto words = split(text, ' ');
  if (words.size() != 5 || words[1] != "dim" || words[3] != "blocks") return std::nullopt;
  const auto of = words[0].find("-of-");
  if (of == std::string_view::npos) return std::nullopt;
  const auto parts = number_below(words[0].substr(of + 4), kMostParts);
  const auto index = parts ? number_below(words[0].substr(0, of), *parts) : std::nullopt;
  const auto dim = number_below(words[2], kMostCutDimensions), blocks = number_below(words[4], kMostParts);
  if (!index || !dim || !blocks || *blocks == 0) return std::nullopt;
  return TensorPart{{.dim = *dim, .blocks = *blocks}, *parts, *index};
}

}  // namespace

std::string cut_name(const CutName& name) {
  const auto& [cut, parts, index] = name.part;
  if (name.part.whole()) return name.tensor;
  return fmt::format("{}{{{}-of-{} dim {} blocks {}}}", name.tensor, index, parts, cut.dim, cut.blocks);
}

std::optional<CutName> find_cut_name(std::string_view name) {
  const auto open = name.rfind('{');
  if (name.empty() || name.back() != '}' || open == std::string_view::npos || open == 0) return std::nullopt;
  const auto part = find_part(name.substr(open + 1, name.size() - open - 2));
  if (!part) return std::nullopt;
  return CutName{std::string(name.substr(0, open)), *part};
}

void check_parts(const std::vector<TensorPart>& parts, const std::vector<std::int64_t>& lengths) {
  check(!parts.empty() && parts.size() == lengths.size(), "a length for each part");
  const auto total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (parts.size() != static_cast<std::size_t>(parts.front().parts))
    throw ConfigError(fmt::format("{} of {} parts are there", parts.size(), parts.front().parts));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].cut != parts.front().cut || parts[i].parts != parts.front().parts ||
        parts[i].index != static_cast<int>(i))
      throw ConfigError("its parts are of different cuts");
    if (find_length(total, parts[i]) != lengths[i])
      throw ConfigError(
          fmt::format("part {} is {} long, which is not its share of {}", i, lengths[i], total));
  }
}

}  // namespace gradwire
