#include "train/loop/tensor_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr const char* kChecksum = "gradwire.checksum";
constexpr std::string_view kChecksumKey =
    R"("gradwire.checksum":")";  // in a header; quotes in texts are escaped
constexpr const char* kNotes = "__metadata__";

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

TensorEntry read_entry(const std::string& name, const Json& value) {
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets"))
    throw ConfigError("it needs dtype, shape and data_offsets");
  if (!value["dtype"].is_string() || !value["shape"].is_array() || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2)
    throw ConfigError("dtype should be a text, shape a list, data_offsets two numbers");
  TensorEntry entry{{name, value["dtype"].get<std::string>(), {}, {}}, 0, 0};
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

void sort_places(std::vector<TensorEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.begin != at)
      throw ConfigError(fmt::format("tensor '{:.60}' does not follow the one before it", entry.tensor.name));
    at = entry.end;
  }
}

}  // namespace

std::optional<std::size_t> find_checksum(std::string_view header) {
  const auto found = header.find(kChecksumKey);
  if (found == std::string_view::npos || header.find(kChecksumKey, found + 1) != std::string_view::npos)
    return std::nullopt;
  const auto digits = found + kChecksumKey.size();
  if (header.size() <= digits + kChecksumDigits || header[digits + kChecksumDigits] != '"')
    return std::nullopt;
  return digits;
}

std::string tensor_header(const std::vector<StoredTensor>& tensors, Notes notes) {
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

TensorHead read_tensor_head(std::string_view header) {
  const auto parsed = Json::parse(header.begin(), header.end(), nullptr, false);
  if (!parsed.is_object()) throw ConfigError("its header is damaged");
  TensorHead head;
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

void check_size(const TensorHead& head, std::uint64_t bytes) {
  const auto needed = head.bytes();
  if (needed > bytes)
    throw ConfigError(fmt::format("it is cut short: its tensors need {} bytes and it has {}", needed, bytes));
  if (needed < bytes) throw ConfigError(fmt::format("{} bytes follow the last tensor", bytes - needed));
}

std::uint64_t header_length(std::string_view begin, std::uint64_t bytes) {
  const std::uint64_t length = begin.size() < kLengthBytes ? 0 : read_length(begin);
  if (begin.size() <= kLengthBytes || length < 2 || length > kLongestHeader || begin[kLengthBytes] != '{')
    throw ConfigError("this is not a checkpoint: it does not begin as safetensors files do");
  if (length > bytes - kLengthBytes)
    throw ConfigError(fmt::format("it is cut short: its header needs {} bytes and it has {}", length,
                                  bytes - kLengthBytes));
  return length;
}

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

}  // namespace gradwire
