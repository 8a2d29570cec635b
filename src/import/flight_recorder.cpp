#include "import/flight_recorder.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "import/pickle.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

std::string word_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || found->is_null()) return {};
  return (found->is_string() ? found->get<std::string>()
                             : found->dump(-1, ' ', false, Json::error_handler_t::replace))
      .substr(0, 200);
}

// "process_group" is a pair of number and description since 2.4, "pg_id" before.
std::string group_of(const Json& entry) {
  const auto pair = entry.find("process_group");
  if (pair != entry.end() && pair->is_array() && !pair->empty()) {
    const Json& last = pair->back();
    return (last.is_string() && !last.get<std::string>().empty() ? last.get<std::string>()
                                                                 : pair->front().dump())
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

FlightDump dump_of(const Json& document) {
  const auto entries = document.is_object() ? document.find("entries") : document.end();
  if (!document.is_object() || entries == document.end() || !entries->is_array())
    throw ConfigError("a flight recorder's dump has 'entries'; this has none");
  FlightDump dump;
  for (const Json& entry : *entries)
    if (entry.is_object())
      dump.calls.push_back({group_of(entry), sequence_of(entry), word_of(entry, "profiling_name"),
                            word_of(entry, "state"), word_of(entry, "input_sizes")});
  return dump;
}

}  // namespace

FlightDump parse_flight_dump(std::string_view bytes, const std::string& name) {
  try {
    FlightDump dump = dump_of(document_of(bytes));
    dump.file = name;
    dump.rank = rank_at_end(name);
    return dump;
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace gradwire
