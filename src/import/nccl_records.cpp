#include "import/nccl_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/error.h"
#include "base/nccl_records.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::uint32_t kMostNcclRecords = 1 << 20;
constexpr std::uint64_t kLongestCall = 3'600'000'000'000;  // an hour: two clocks were subtracted

// Any byte may be anything: copied, never pointed at.
template <typename T>
T plain_at(std::string_view bytes, std::size_t at) {
  T value{};
  if (at > bytes.size() || sizeof value > bytes.size() - at)
    throw ConfigError("a file of NCCL's calls that is cut off");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <std::size_t size>
std::string word_in(const char (&text)[size]) {
  return std::string(text, std::find(text, text + size, '\0'));
}

// "ncclFloat32", "ncclBfloat16", "ncclFloat8e4m3": bits are the first number.
Bytes element_bytes(std::string_view type) {
  const auto digit = type.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  const auto end = std::min(type.find_first_not_of("0123456789", digit), type.size());
  return static_cast<Bytes>(find_integer<int>(type.substr(digit, end - digit)).value_or(0) / 8);
}

Bytes whole_bytes(const NcclRecord& record, const SaidCollective& collective, int ranks) {
  const Bytes size = element_bytes(word_in(record.datatype));
  if (size == 0 || record.count > (std::uint64_t{1} << 44)) return 0;
  const bool parts =
      collective.kind == Collective::all_gather || collective.kind == Collective::reduce_scatter;
  if (parts && ranks <= 0) return 0;
  return static_cast<Bytes>(record.count) * size * static_cast<Bytes>(parts ? ranks : 1);
}

std::optional<std::int64_t> gpu_time_of(const NcclRecord& record) {
  const bool whole = record.channels_ended > 0 && record.channels_ended == record.channels_begun;
  if (!whole || record.begin_ns == 0 || record.end_ns <= record.begin_ns ||
      record.end_ns - record.begin_ns > kLongestCall)
    return std::nullopt;
  return static_cast<std::int64_t>(record.end_ns - record.begin_ns);
}

NcclCall call_of(const NcclRecord& record, int ranks) {
  NcclCall call;
  call.number = record.number;
  call.sequence = record.sequence;
  call.collective = SaidCollective(word_in(record.collective));
  call.bytes = whole_bytes(record, call.collective, ranks);
  call.algorithm = word_in(record.algorithm);
  call.protocol = word_in(record.protocol);
  call.channels = record.channels;
  call.time_ns = gpu_time_of(record);
  call.gpu_clock = record.gpu_clock != 0;
  return call;
}

NcclCalls calls_of(std::string_view bytes) {
  const auto head = plain_at<NcclRecordsHead>(bytes, 0);
  if (head.record_bytes < sizeof(NcclRecord) || head.record_bytes > 4096 || head.records > kMostNcclRecords)
    throw ConfigError("a file of NCCL's calls by another version of Gradwire");
  NcclCalls all;
  all.interface = static_cast<int>(std::min<std::uint32_t>(head.interface, 99));
  if (head.rank >= 0) all.rank = head.rank;
  all.ranks = std::clamp(head.ranks, 0, 1 << 20);
  all.nodes = std::clamp(head.nodes, 0, 1 << 20);
  all.communicator = head.communicator;
  all.dropped = head.dropped;
  all.host = word_in(head.host);
  all.name = word_in(head.name);
  for (std::size_t at = head.record_bytes;
       at + head.record_bytes <= bytes.size() && at <= std::size_t{head.records} * head.record_bytes;
       at += head.record_bytes)
    if (const auto record = plain_at<NcclRecord>(bytes, at); record.number != 0)
      all.calls.push_back(call_of(record, all.ranks));
  std::sort(all.calls.begin(), all.calls.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return all;
}

}  // namespace

bool is_nccl_records(std::string_view head) {
  return head.starts_with(std::string_view(kNcclRecordsMagic, sizeof kNcclRecordsMagic));
}

NcclCalls parse_nccl_records(std::string_view bytes, const std::string& name) {
  try {
    if (!is_nccl_records(bytes)) throw ConfigError("this is no file of NCCL's calls");
    NcclCalls calls = calls_of(bytes);
    calls.file = name;
    return calls;
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace gradwire
