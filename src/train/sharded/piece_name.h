// How a part of a tensor is called in a checkpoint: "fc1.weight[2304x1024][0:4096]" is the first 4096 elements, row by
// row, of a tensor of that shape. Names come from files: everything is checked. Without torch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct PieceName {
  std::string tensor;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;
  bool operator==(const PieceName&) const = default;
};

std::string piece_name(const PieceName& piece);

// Nothing where a name is that of a whole tensor, is not spelt as above ("[02]"), or says what can't be: an end beyond the shape,
// a shape of more elements than there are numbers.
std::optional<PieceName> find_piece_name(std::string_view name);

std::optional<std::int64_t> find_elements(
    const std::vector<std::int64_t>& shape);  // nothing where they overflow

// Whether pieces of one tensor are all of it, each element once. Throws ConfigError naming the tensor where they are not.
void check_pieces(std::vector<PieceName> pieces);

}  // namespace gradwire
