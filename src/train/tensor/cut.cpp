#include "train/tensor/cut.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace gradwire {

Share share_of(std::int64_t total, int parts, int index) {
  check(total >= 0 && parts > 0 && index >= 0 && index < parts, "share_of takes a part that is there");
  const std::int64_t each = total / parts, larger = total % parts;
  return {index * each + std::min<std::int64_t>(index, larger), each + (index < larger ? 1 : 0)};
}

std::vector<Share> shares_of(std::int64_t total, int blocks, int parts, int index) {
  check(blocks > 0 && total % blocks == 0, "a dimension is cut in equal blocks");
  const std::int64_t block = total / blocks;
  std::vector<Share> shares;
  for (int i = 0; i < blocks; ++i) {
    Share share = share_of(block, parts, index);
    share.begin += i * block;
    shares.push_back(share);
  }
  return shares;
}

std::optional<std::int64_t> find_length(std::int64_t total, const TensorPart& part) {
  const int blocks = part.cut.blocks;
  if (blocks < 1 || total % blocks != 0) return std::nullopt;
  return blocks * share_of(total / blocks, part.parts, part.index).count;
}

void check_divides(const std::string& what, std::int64_t count, int parts) {
  if (parts > 0 && count % parts == 0) return;
  throw ConfigError(
      fmt::format("{} can't be divided among {} ranks of a tensor-parallel group", what, parts));
}

}  // namespace gradwire
