#include "report/page/columns.h"

#include <bit>
#include <cstring>
#include <limits>

namespace gradwire {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are written as they lie in memory");

template <typename T>
void put_number(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof raw);
}

// Differences of 32-bit numbers may wrap around, and so does their sum.
std::string int_column(std::span<const DrawnSpan> spans, std::int32_t DrawnSpan::*member) {
  std::string bytes;
  std::uint32_t before = 0;
  for (const DrawnSpan& span : spans) {
    const auto value = static_cast<std::uint32_t>(span.*member);
    put_number(bytes, value - before);
    before = value;
  }
  return base64(deflate_raw(bytes));
}

// Whole numbers below 2^53: sums of their differences are exact.
std::string double_column(std::span<const DrawnSpan> spans, double DrawnSpan::*member) {
  std::string bytes;
  double before = 0;
  for (const DrawnSpan& span : spans) {
    put_number(bytes, span.*member - before);
    before = span.*member;
  }
  return base64(deflate_raw(bytes));
}

// Most spans are short, and half the bytes are enough for them.
std::string duration_column(std::span<const DrawnSpan> spans) {
  std::vector<DrawnSpan> shorter;
  for (const DrawnSpan& span : spans) {
    if (span.duration_ns > std::numeric_limits<std::int32_t>::max())
      return double_column(spans, &DrawnSpan::duration_ns);
    shorter.push_back({.lane = static_cast<std::int32_t>(span.duration_ns)});
  }
  return int_column(shorter, &DrawnSpan::lane);
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> unsigned {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
    const std::size_t there = bytes.size() - i;
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += there > 1 ? kDigits[group >> 6 & 63] : '=';
    text += there > 2 ? kDigits[group & 63] : '=';
  }
  return text;
}

nlohmann::json columns_json(std::span<const DrawnSpan> spans) {
  return {{"lane", int_column(spans, &DrawnSpan::lane)},
          {"kind", int_column(spans, &DrawnSpan::kind)},
          {"name", int_column(spans, &DrawnSpan::name)},
          {"step", int_column(spans, &DrawnSpan::step)},
          {"begin_ns", double_column(spans, &DrawnSpan::begin_ns)},
          {"duration_ns", duration_column(spans)},
          {"bytes", double_column(spans, &DrawnSpan::bytes)},
          {"ready_ns", double_column(spans, &DrawnSpan::ready_ns)}};
}

}  // namespace gradwire
