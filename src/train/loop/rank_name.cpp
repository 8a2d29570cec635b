#include "train/loop/rank_name.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::string_view kOf = "-of-";

}  // namespace

std::string rank_name(const RankName& name) {
  return fmt::format("{}@{}{}{}", name.tensor, name.rank, kOf, name.ranks);
}

std::optional<RankName> find_rank_name(std::string_view whole) {
  const auto at = whole.rfind('@'), of = whole.rfind(kOf);
  if (at == std::string_view::npos || of == std::string_view::npos || of < at) return std::nullopt;
  const auto rank = find_integer<int>(whole.substr(at + 1, of - at - 1)),
             ranks = find_integer<int>(whole.substr(of + kOf.size()));
  if (!rank || !ranks || *rank < 0 || *rank >= *ranks) return std::nullopt;
  RankName found{std::string(whole.substr(0, at)), *rank, *ranks};
  return rank_name(found) == whole ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace gradwire
