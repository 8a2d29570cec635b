#include "train/sharded/piece_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

// The text between the last pair of brackets, which it cuts off.
std::optional<std::string_view> cut_brackets(std::string_view& name) {
  const auto open = name.rfind('[');
  if (name.empty() || name.back() != ']' || open == std::string_view::npos) return std::nullopt;
  const auto inside = name.substr(open + 1, name.size() - open - 2);
  name = name.substr(0, open);
  return inside;
}

std::optional<std::vector<std::int64_t>> numbers_in(std::string_view text, char separator) {
  std::vector<std::int64_t> numbers;
  for (const auto part : split(text, separator)) {
    const auto number = find_integer<std::int64_t>(part);
    if (!number || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::string piece_name(const PieceName& piece) {
  return fmt::format("{}[{}][{}:{}]", piece.tensor, fmt::join(piece.shape, "x"), piece.begin, piece.end);
}

std::optional<std::int64_t> find_elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const auto extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  return count;
}

std::optional<PieceName> find_piece_name(std::string_view whole) {
  std::string_view name = whole;
  const auto range = cut_brackets(name);
  const auto shape = range ? cut_brackets(name) : std::nullopt;
  if (!shape || name.empty()) return std::nullopt;
  const auto bounds = numbers_in(*range, ':');
  const auto extents = shape->empty() ? std::vector<std::int64_t>() : numbers_in(*shape, 'x');
  if (!bounds || bounds->size() != 2 || !extents) return std::nullopt;
  const auto elements = find_elements(*extents);
  if (!elements || (*bounds)[0] > (*bounds)[1] || (*bounds)[1] > *elements) return std::nullopt;
  PieceName found{std::string(name), *extents, (*bounds)[0], (*bounds)[1]};
  return piece_name(found) == whole ? std::optional(std::move(found)) : std::nullopt;
}

void check_pieces(std::vector<PieceName> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::int64_t at = 0;
  for (const auto& piece : pieces) {
    if (piece.shape != pieces.front().shape)
      throw ConfigError(fmt::format("'{:.60}' has parts of different shapes", piece.tensor));
    if (piece.begin != at)
      throw ConfigError(fmt::format("'{:.60}' has elements {} {} times", piece.tensor,
                                    std::min(at, piece.begin), piece.begin < at ? "several" : "no"));
    at = piece.end;
  }
  if (!pieces.empty() && at != find_elements(pieces.front().shape).value_or(-1))
    throw ConfigError(
        fmt::format("'{:.60}' ends after {} elements: a part is missing", pieces.front().tensor, at));
}

}  // namespace gradwire
