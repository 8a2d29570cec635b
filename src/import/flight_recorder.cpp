#include "import/flight_recorder.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/collective.h"
#include "base/error.h"
#include "base/text.h"
#include "import/pickle.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

// Texts as they are, all else as JSON says it; bytes that are no UTF-8 are replaced.
std::string plain_text(const Json& value) {
  return (value.is_string() ? value.get<std::string>()
                            : value.dump(-1, ' ', false, Json::error_handler_t::replace))
      .substr(0, 200);
}

std::string word_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || found->is_null()) return {};
  return plain_text(*found);
}

// "process_group" is a pair of number and description since 2.4, "pg_id" before.
std::string group_of(const Json& entry) {
  const auto pair = entry.find("process_group");
  if (pair != entry.end() && pair->is_array() && !pair->empty()) {
    const Json& last = pair->back();
    return (last.is_string() && !last.get<std::string>().empty() ? last.get<std::string>()
                                                                 : plain_text(pair->front()))
        .substr(0, 200);
  }
  return word_of(entry, "pg_id");
}

long sequence_of(const Json& entry) {
  for (const char* key : {"collective_seq_id", "seq_id"})
    if (const auto found = entry.find(key); found != entry.end() && found->is_number_integer())
      return found->get<long>();
  return 0;
}

std::optional<std::int64_t> find_number(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

// As torch writes its types: "Float", "BFloat16", "c10::Half", "torch.float32".
std::optional<std::uint64_t> find_width(std::string_view type) {
  constexpr std::pair<std::string_view, std::uint64_t> kWidths[] = {
      {"Float8", 1},  {"BFloat16", 2}, {"bfloat16", 2}, {"Half", 2},  {"float16", 2}, {"Double", 8},
      {"float64", 8}, {"float8", 1},   {"Float", 4},    {"float", 4}, {"Long", 8},    {"int64", 8},
      {"Short", 2},   {"int16", 2},    {"Byte", 1},     {"Char", 1},  {"int8", 1},    {"Bool", 1},
      {"bool", 1},    {"Int", 4},      {"int", 4}};
  for (const auto& [word, width] : kWidths)
    if (type.find(word) != std::string_view::npos) return width;
  return std::nullopt;
}

// [[1024], [2, 8]] of ["Float", "Half"]: how much that is.
std::optional<std::uint64_t> find_bytes(const Json& entry) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  const auto sizes = entry.find("input_sizes"), types = entry.find("input_dtypes");
  if (sizes == entry.end() || types == entry.end() || !sizes->is_array() || !types->is_array() ||
      sizes->empty() || sizes->size() != types->size())
    return std::nullopt;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const auto width = (*types)[i].is_string() ? find_width((*types)[i].get<std::string>()) : std::nullopt;
    if (!width || !(*sizes)[i].is_array()) return std::nullopt;
    std::uint64_t bytes = *width;
    for (const Json& size : (*sizes)[i]) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kMost) return std::nullopt;
      bytes *= size.get<std::uint64_t>();
      if (bytes > kMost) return std::nullopt;
    }
    sum += bytes;
  }
  return sum > kMost ? std::nullopt : std::optional(sum);
}

// The digits at the end: "nccl_trace_rank_3", "dump12".
std::optional<int> rank_at_end(std::string_view name) {
  if (const auto dot = name.rfind('.');
      dot != std::string_view::npos && name.find('/', dot) == std::string_view::npos)
    name = name.substr(0, dot);
  const auto begin = name.find_last_not_of("0123456789");
  return find_integer<int>(name.substr(begin == std::string_view::npos ? 0 : begin + 1));
}

Json document_of(std::string_view bytes) {
  if (!bytes.empty() && bytes[0] == '\x80') return parse_pickle(bytes);
  Json document = Json::parse(bytes, nullptr, false);
  if (document.is_discarded()) throw ConfigError("this is neither JSON nor a pickle, or it is cut off");
  return document;
}

// --- Gradwire's own: the layout of comm/flight_recorder.h, read field by field because any byte may be anything.

constexpr std::string_view kOwnMagic = "GWFLIGHT";
constexpr std::size_t kFlightHeadBytes = 64, kMostRecords = 1 << 20;

template <typename T>
T number_at(std::string_view bytes, std::size_t at) {
  T value{};
  if (at + sizeof value > bytes.size()) throw ConfigError("a flight recorder's file that is cut off");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

RecordedCall own_call(std::string_view record, const std::string& group) {
  constexpr CallState kStates[] = {CallState::unknown, CallState::started, CallState::completed,
                                   CallState::failed};  // as numbered there
  const auto kind = number_at<std::uint8_t>(record, 22);
  const auto state = number_at<std::uint8_t>(record, 40);
  RecordedCall call;
  call.group = group;
  call.sequence = static_cast<long>(number_at<std::uint64_t>(record, 0) & 0x7fffffffffffffff);
  call.name = kind < kCollectives ? std::string(name_of(static_cast<Collective>(kind))) : "unknown";
  call.state = kStates[std::min<std::size_t>(state, 3)];
  call.sizes = fmt::format("{} bytes", number_at<std::uint64_t>(record, 8));
  call.point_to_point = kind < kCollectives && is_point_to_point(static_cast<Collective>(kind));
  return call;
}

FlightDump own_dump(std::string_view bytes) {
  const auto version = number_at<std::uint32_t>(bytes, 8), records = number_at<std::uint32_t>(bytes, 12);
  const auto size = number_at<std::uint32_t>(bytes, 28);
  if (version != 1 || size < 48 || size > 4096 || records > kMostRecords)
    throw ConfigError("a flight recorder's file of another version of Gradwire");
  FlightDump dump;
  dump.rank = static_cast<int>(number_at<std::uint32_t>(bytes, 16) & 0x7fffffff);
  const auto group = fmt::format("{}", number_at<std::uint32_t>(bytes, 24));
  for (std::size_t i = 0; i < records && kFlightHeadBytes + (i + 1) * size <= bytes.size(); ++i) {
    const auto record = bytes.substr(kFlightHeadBytes + i * size, size);
    if (number_at<std::uint8_t>(record, 40) != 0) dump.calls.push_back(own_call(record, group));
  }
  std::stable_sort(dump.calls.begin(), dump.calls.end(),
                   [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  return dump;
}

// PyTorch 2.2 wrote the list of them and nothing around it.
const Json& entries_of(const Json& document) {
  const bool bare = document.is_array() && !document.empty() && document[0].is_object() &&
                    document[0].contains("profiling_name");
  if (bare) return document;
  const auto entries = document.is_object() ? document.find("entries") : document.end();
  if (!document.is_object() || entries == document.end() || !entries->is_array())
    throw ConfigError("a flight recorder's dump has 'entries'; this has none");
  return *entries;
}

CallState state_named(std::string_view word) {
  for (const CallState state :
       {CallState::scheduled, CallState::started, CallState::completed, CallState::failed})
    if (word == to_string(state)) return state;
  return CallState::unknown;
}

RecordedCall call_of(const Json& entry) {
  RecordedCall call{group_of(entry),
                    sequence_of(entry),
                    word_of(entry, "profiling_name"),
                    state_named(word_of(entry, "state")),
                    word_of(entry, "input_sizes"),
                    entry.value("is_p2p", Json(false)) == true};
  call.bytes = find_bytes(entry);
  call.made_ns = find_number(entry, "time_created_ns");
  call.timeout_ms = find_number(entry, "timeout_ms");
  for (const char* key : {"time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"})
    if (const auto time = find_number(entry, key))
      call.latest_ns = std::max(call.latest_ns.value_or(*time), *time);
  return call;
}

// "[0, 1, 2, 3]", as a text or as the list itself.
std::vector<int> ranks_in(const Json& value) {
  constexpr std::size_t kMostRanks = 1 << 20;
  const Json list = value.is_string() ? Json::parse(value.get<std::string>(), nullptr, false) : value;
  std::vector<int> ranks;
  if (!list.is_array() || list.size() > kMostRanks) return ranks;
  for (const Json& rank : list)
    if (rank.is_number_unsigned() && rank.get<std::uint64_t>() < kMostRanks) ranks.push_back(rank.get<int>());
  return ranks;
}

// "pg_config" has groups by number, with their description and ranks; calls bear the one or the other.
void read_members(const Json& document, FlightDump& dump) {
  const auto groups = document.is_object() ? document.find("pg_config") : document.end();
  if (!document.is_object() || groups == document.end() || !groups->is_object()) return;
  for (const auto& [number, group] : groups->items()) {
    if (!group.is_object() || !group.contains("ranks")) continue;
    const auto ranks = ranks_in(group["ranks"]);
    for (const std::string& name : {number, word_of(group, "desc")})
      if (auto& members = dump.members[name]; members.size() < ranks.size()) members = ranks;
  }
}

FlightDump dump_of(const Json& document) {
  FlightDump dump;
  for (const Json& entry : entries_of(document))
    if (entry.is_object()) dump.calls.push_back(call_of(entry));
  read_members(document, dump);
  if (document.is_object())
    if (const auto rank = find_number(document, "rank"); rank && *rank >= 0 && *rank < 1 << 20)
      dump.rank = static_cast<int>(*rank);
  return dump;
}

}  // namespace

std::string_view to_string(CallState state) {
  constexpr std::string_view kWords[] = {"of unknown state", "scheduled", "started", "completed", "failed"};
  return kWords[static_cast<int>(state)];
}

FlightDump parse_flight_dump(std::string_view bytes, const std::string& name) {
  try {
    FlightDump dump = bytes.starts_with(kOwnMagic) ? own_dump(bytes) : dump_of(document_of(bytes));
    dump.file = name;
    if (!dump.rank) dump.rank = rank_at_end(name);
    return dump;
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace gradwire
