#include "train/loop/tensor_file.h"

#include <sodium.h>

#include <algorithm>

#include "base/error.h"
#include "base/file_reader.h"
#include "base/files.h"
#include "train/loop/tensor_header.h"

namespace gradwire {
namespace {

std::string hex(std::span<const unsigned char> bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

class Checksum {
 public:
  Checksum() { crypto_generichash_init(&state_, nullptr, 0, 16); }
  void add(std::span<const std::byte> bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::string text() {
    unsigned char digest[16];
    crypto_generichash_final(&state_, digest, sizeof digest);
    return hex(digest);
  }

 private:
  crypto_generichash_state state_;
};

std::span<const std::byte> bytes_in(std::string_view text) { return std::as_bytes(std::span(text)); }

// Puts the file's name in front of what the function complains about.
template <typename Function>
auto naming(const std::string& file, const Function& function) {
  try {
    return function();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file, error.what()));
  }
}

// The checksum of a whole file, which is right for all of it but its own digits; empty where there is none.
std::string checked(std::string_view content, std::string_view header, Unchecked unchecked) {
  const auto digits = find_checksum(header);
  if (!digits && unchecked == Unchecked::accept) return {};
  if (!digits)
    throw ConfigError(
        "it has no checksum of gradwire: it is damaged, or of another program or an older version");
  const std::size_t at = kLengthBytes + *digits;
  Checksum checksum;
  checksum.add(bytes_in(content.substr(0, at)));
  checksum.add(bytes_in(std::string(kChecksumDigits, '0')));
  checksum.add(bytes_in(content.substr(at + kChecksumDigits)));
  const auto said = content.substr(at, kChecksumDigits);
  if (said != checksum.text()) throw ConfigError("it is damaged: its bytes do not match its checksum");
  return std::string(said);
}

}  // namespace

TensorDraft::TensorDraft(const std::vector<StoredTensor>& tensors, const Notes& notes) {
  std::string header = tensor_header(tensors, notes);
  const auto digits = find_checksum(header);
  check(digits.has_value(), "a header has no place for its checksum");
  const std::uint64_t length = header.size();
  head_ = std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + header;
  Checksum checksum;
  checksum.add(bytes_in(head_));
  for (const auto& tensor : tensors) {
    body_.push_back(tensor.bytes);
    checksum.add(tensor.bytes);
  }
  checksum_ = checksum.text();
  head_.replace(kLengthBytes + *digits, kChecksumDigits, checksum_);
}

void TensorDraft::write_to(FileDraft& file) const {
  file.write(head_);
  for (const auto part : body_) file.write({reinterpret_cast<const char*>(part.data()), part.size()});
}

void write_tensor_file(const std::filesystem::path& path, const std::vector<StoredTensor>& tensors,
                       const Notes& notes) {
  FileDraft file(path);
  TensorDraft(tensors, notes).write_to(file);
  file.commit();
}

// One byte more than there should be shows that something follows. Nobody knows the size of a pipe: what is wrong with it is
// seen when all of it is there.
std::string read_tensor_bytes(const std::filesystem::path& path) {
  FileReader file(path, kLargestFile);
  const auto& content = file.read_to(kLengthBytes + 1);
  const auto length =
      naming(path.string(), [&] { return header_length(content, file.size().value_or(kLargestFile)); });
  const auto begin = kLengthBytes + length;
  if (file.read_to(begin).size() < begin) return file.take();
  const auto head = naming(path.string(), [&] {
    auto made = read_tensor_head(std::string_view(content).substr(kLengthBytes));
    if (file.size()) check_size(made, *file.size() - begin);
    return made;
  });
  file.read_to(begin + std::min(head.bytes(), kLargestFile) + 1);
  return file.take();
}

TensorFile::TensorFile(const std::filesystem::path& path, Unchecked unchecked)
    : TensorFile(read_tensor_bytes(path), path.string(), unchecked) {}

TensorFile::TensorFile(std::string content, const std::string& name, Unchecked unchecked)
    : content_(std::move(content)) {
  naming(name, [&] { parse(unchecked); });
}

void TensorFile::parse(Unchecked unchecked) {
  const std::string_view content(content_);
  const auto header = content.substr(kLengthBytes, header_length(content, content.size()));
  const auto body = bytes_in(content.substr(kLengthBytes + header.size()));
  auto head = read_tensor_head(header);
  check_size(head, body.size());
  checksum_ = checked(content_, header, unchecked);  // cut files have been named as such before this
  for (TensorEntry& entry : head.entries) {
    entry.tensor.bytes = body.subspan(entry.begin, entry.end - entry.begin);
    tensors_.push_back(std::move(entry.tensor));
  }
  notes_ = std::move(head.notes);
}

}  // namespace gradwire
