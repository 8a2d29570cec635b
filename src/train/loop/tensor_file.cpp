#include "train/loop/tensor_file.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file_reader.h"
#include "base/files.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr const char* kChecksum = "gradwire.checksum";
constexpr std::string_view kChecksumKey =
    R"("gradwire.checksum":")";  // in a header; quotes in texts are escaped
constexpr std::size_t kChecksumDigits = 32;
constexpr const char* kNotes = "__metadata__";

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

// Where the digits of the checksum stand in a header as we write it; nothing where it has none of ours.
std::optional<std::size_t> find_checksum(std::string_view header) {
  const auto found = header.find(kChecksumKey);
  if (found == std::string_view::npos || header.find(kChecksumKey, found + 1) != std::string_view::npos)
    return std::nullopt;
  const auto digits = found + kChecksumKey.size();
  if (header.size() <= digits + kChecksumDigits || header[digits + kChecksumDigits] != '"')
    return std::nullopt;
  return digits;
}

std::string header_of(const std::vector<StoredTensor>& tensors, Notes notes) {
  Json header = Json::object();
  std::uint64_t at = 0;
  for (const auto& tensor : tensors) {
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  notes[kChecksum] = std::string(kChecksumDigits, '0');
  header[kNotes] = notes;
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::type_error&) {
    throw ConfigError("a checkpoint in parts needs a name in UTF-8: the file that lists them holds it");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors begin aligned
  return text;
}

std::span<const std::byte> bytes_in(std::string_view text) { return std::as_bytes(std::span(text)); }

std::uint64_t read_length(std::string_view content) {
  std::uint64_t length = 0;
  std::memcpy(&length, content.data(), kLengthBytes);
  return length;
}

std::uint64_t whole(const Json& value, const char* what) {
  if (!value.is_number_unsigned())
    throw ConfigError(fmt::format("{} should be a whole number, not {}", what, value.dump()));
  return value.get<std::uint64_t>();
}

// Elements of a shape; hostile shapes must not overflow.
std::uint64_t count_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const auto extent : shape)
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count))
      throw ConfigError("its shape has more elements than there are numbers");
  return count;
}

struct Entry {
  StoredTensor tensor;
  std::uint64_t begin = 0, end = 0;
};

Entry read_entry(const std::string& name, const Json& value) {
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets"))
    throw ConfigError("it needs dtype, shape and data_offsets");
  if (!value["dtype"].is_string() || !value["shape"].is_array() || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2)
    throw ConfigError("dtype should be a text, shape a list, data_offsets two numbers");
  Entry entry{{name, value["dtype"].get<std::string>(), {}, {}}, 0, 0};
  for (const Json& extent : value["shape"]) {
    const auto number = whole(extent, "an extent");
    if (number > INT64_MAX) throw ConfigError("an extent is too large");
    entry.tensor.shape.push_back(static_cast<std::int64_t>(number));
  }
  entry.begin = whole(value["data_offsets"][0], "an offset");
  entry.end = whole(value["data_offsets"][1], "an offset");
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count_of(entry.tensor.shape), element_bytes(entry.tensor.dtype), &bytes) ||
      entry.end < entry.begin || entry.end - entry.begin != bytes)
    throw ConfigError("its shape and its offsets disagree");
  return entry;
}

Notes read_notes(const Json& value) {
  Notes notes;
  if (!value.is_object()) throw ConfigError("__metadata__ should be an object");
  for (const auto& [name, text] : value.items()) {
    if (!text.is_string()) throw ConfigError(fmt::format("the note '{:.60}' should be a text", name));
    notes[name] = text.get<std::string>();
  }
  return notes;
}

// What a header says. The tensors follow one another without holes and overlaps, as the format wants it.
struct Head {
  std::vector<Entry> entries = {};
  Notes notes = {};
  std::uint64_t bytes() const { return entries.empty() ? 0 : entries.back().end; }  // of all tensors
};

void sort_places(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at)
      throw ConfigError(fmt::format("tensor '{:.60}' does not follow the one before it", entry.tensor.name));
    at = entry.end;
  }
}

Head read_head(std::string_view header) {
  const auto parsed = Json::parse(header.begin(), header.end(), nullptr, false);
  if (!parsed.is_object()) throw ConfigError("its header is damaged");
  Head head;
  for (const auto& [name, value] : parsed.items()) {
    try {
      if (name == kNotes)
        head.notes = read_notes(value);
      else
        head.entries.push_back(read_entry(name, value));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("tensor '{:.60}': {}", name, error.what()));
    }
  }
  sort_places(head.entries);
  return head;
}

void check_size(const Head& head, std::uint64_t bytes) {
  const auto needed = head.bytes();
  if (needed > bytes)
    throw ConfigError(fmt::format("it is cut short: its tensors need {} bytes and it has {}", needed, bytes));
  if (needed < bytes) throw ConfigError(fmt::format("{} bytes follow the last tensor", bytes - needed));
}

// Of a file of so many bytes, which begins like this: nine of them are enough.
std::uint64_t header_length(std::string_view begin, std::uint64_t bytes) {
  const std::uint64_t length = begin.size() < kLengthBytes ? 0 : read_length(begin);
  if (begin.size() <= kLengthBytes || length < 2 || length > kLongestHeader || begin[kLengthBytes] != '{')
    throw ConfigError("this is not a checkpoint: it does not begin as safetensors files do");
  if (length > bytes - kLengthBytes)
    throw ConfigError(fmt::format("it is cut short: its header needs {} bytes and it has {}", length,
                                  bytes - kLengthBytes));
  return length;
}

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

Bytes element_bytes(const std::string& dtype) {
  static const std::map<std::string, Bytes, std::less<>> kBytes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  const auto found = kBytes.find(dtype);
  if (found == kBytes.end())
    throw ConfigError(
        fmt::format("'{:.20}' is not a type: there are F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL", dtype));
  return found->second;
}

TensorDraft::TensorDraft(const std::vector<StoredTensor>& tensors, const Notes& notes) {
  std::string header = header_of(tensors, notes);
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
    auto made = read_head(std::string_view(content).substr(kLengthBytes));
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
  auto head = read_head(header);
  check_size(head, body.size());
  checksum_ = checked(content_, header, unchecked);  // cut files have been named as such before this
  for (Entry& entry : head.entries) {
    entry.tensor.bytes = body.subspan(entry.begin, entry.end - entry.begin);
    tensors_.push_back(std::move(entry.tensor));
  }
  notes_ = std::move(head.notes);
}

}  // namespace gradwire
