// Named tensors in a file, in the safetensors format: eight bytes that give the length of a JSON header, the
// header with type, shape and place of each tensor, then their bytes. Others' programs read what this writes,
// and this reads what they write. Without torch.
//
// A file appears whole or not at all, and carries among its notes ("gradwire.checksum") a checksum of all its
// bytes: the length, the header (with zeros where the checksum stands) and the tensors. So no byte can change
// unnoticed. A file without it, another program's say, is read only by who asks for that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/units.h"

namespace gradwire {

struct StoredTensor {
  std::string name;
  std::string dtype;  // as the format spells it: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // little-endian, row by row; borrowed
};

using Notes = std::map<std::string, std::string>;

// A file to be written: borrows the tensors' bytes.
class TensorDraft {
 public:
  TensorDraft(const std::vector<StoredTensor>& tensors, const Notes& notes);
  const std::string& checksum() const { return checksum_; }
  void write_to(FileDraft& file) const;

 private:
  std::string head_;  // the length and the header
  std::vector<std::span<const std::byte>> body_;
  std::string checksum_;
};

void write_tensor_file(const std::filesystem::path& path, const std::vector<StoredTensor>& tensors,
                       const Notes& notes);

enum class Unchecked { refuse, accept };  // files without a checksum of ours

// A file that was read. Tensors borrow from it.
class TensorFile {
 public:
  // Throws ConfigError with the path and what is wrong: it can't be read, is cut short, is damaged, is another
  // kind of file, or its header contradicts itself.
  explicit TensorFile(const std::filesystem::path& path, Unchecked unchecked = Unchecked::refuse);
  TensorFile(std::string content, const std::string& name, Unchecked unchecked = Unchecked::refuse);
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const Notes& notes() const { return notes_; }
  const std::string& checksum() const { return checksum_; }  // empty where it has none

 private:
  void parse(Unchecked unchecked);

  std::string content_;
  std::vector<StoredTensor> tensors_;
  Notes notes_;
  std::string checksum_;
};

// The bytes of a file, to make a TensorFile of, possibly elsewhere. Its header is read first: a file that is none of ours, or
// whose size is not what its header says, is refused, as TensorFile does it, before the rest is read.
std::string read_tensor_bytes(const std::filesystem::path& path);

Bytes element_bytes(const std::string& dtype);  // throws ConfigError for one that is none of the above

}  // namespace gradwire
