// The header of a file of tensors (tensor_file.h): what it says, and where its checksum stands. Pure functions, for that file alone; all
// throw ConfigError saying what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/loop/tensor_file.h"

namespace gradwire {

inline constexpr std::size_t kLengthBytes = 8;  // of the length in front of it
inline constexpr std::size_t kChecksumDigits = 32;

struct TensorEntry {
  StoredTensor tensor;               // without its bytes
  std::uint64_t begin = 0, end = 0;  // of them, behind the header
};

// What a header says. The tensors follow one another without holes and overlaps, as the format wants it.
struct TensorHead {
  std::vector<TensorEntry> entries = {};
  Notes notes = {};
  std::uint64_t bytes() const { return entries.empty() ? 0 : entries.back().end; }  // of all tensors
};

std::string tensor_header(const std::vector<StoredTensor>& tensors,
                          Notes notes);  // with zeros for a checksum
TensorHead read_tensor_head(std::string_view header);

// Of a file of so many bytes, which begins like this: nine of them are enough.
std::uint64_t header_length(std::string_view begin, std::uint64_t bytes);
void check_size(const TensorHead& head, std::uint64_t bytes);  // of what follows the header

// Where the digits of the checksum stand in a header as we write it; nothing where it has none of ours.
std::optional<std::size_t> find_checksum(std::string_view header);

}  // namespace gradwire
