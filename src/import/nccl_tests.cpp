#include "import/nccl_tests.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/text.h"
#include "import/communication_names.h"

namespace gradwire {
namespace {

// "[1,0]<stdout>:", "0:", "[pod/launcher/main]": what a launcher puts before a line.
bool is_tag(std::string_view word) { return word.ends_with(':') || word.ends_with(']'); }

std::vector<std::string_view> blank_words(std::string_view line) {
  std::vector<std::string_view> words;
  for (const auto word : split(line, ' '))
    if (const auto text = trim(word); !text.empty() && !(words.empty() && is_tag(text)))
      words.push_back(text);
  return words;
}

// "node1" of "#  Rank  0 Group  0 Pid  41 on  node1 device  0 [0x07] NVIDIA H100"
std::optional<std::string> find_host(const std::vector<std::string_view>& words) {
  const auto on = std::ranges::find(words, "on");
  if (on == words.end() || on + 1 == words.end()) return std::nullopt;
  return std::string(on[1]);
}

// "all_gather" of "./build/all_gather_perf -b 8"
std::optional<Collective> find_test(std::string_view line) {
  const auto end = line.find("_perf");
  if (end == std::string_view::npos) return std::nullopt;
  const auto begin = line.substr(0, end).find_last_of(" /\t:");
  return collective_of(line.substr(begin + 1, end - begin - 1));  // npos + 1 is 0
}

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// size count type redop [root] time algbw busbw: the first decimal with a point is algbw or time, so columns
// are counted from the type, which is the third.
std::optional<NcclTestRow> find_row(const std::vector<std::string_view>& words) {
  if (words.size() < 7) return std::nullopt;
  const auto bytes = find_integer<Bytes>(words[0]), count = find_integer<Bytes>(words[1]);
  if (!bytes || !count || find_integer<Bytes>(words[2])) return std::nullopt;
  std::size_t at = 3;
  while (at < words.size() && (!decimal(words[at]) || words[at] == "-1")) ++at;  // redop, and no root
  if (words.size() > at + 3 && find_integer<int>(words[at]) &&
      words[at].find('.') == std::string_view::npos && decimal(words[at + 3]) && words.size() >= 11 &&
      words.size() % 2 == 0)
    ++at;  // a root
  if (at + 2 >= words.size()) return std::nullopt;
  const auto time = decimal(words[at]), busbw = decimal(words[at + 2]);
  if (!time || !busbw) return std::nullopt;
  return NcclTestRow{*bytes, *time, *busbw, 0};
}

// "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) ..."
Bytes largest_asked(std::string_view text) {
  constexpr std::string_view kWord = "maxBytes ";
  const auto at = text.find(kWord);
  if (at == std::string_view::npos) return 0;
  const auto digits = text.substr(at + kWord.size());
  return find_integer<Bytes>(digits.substr(0, digits.find_first_not_of("0123456789"))).value_or(0);
}

double number_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

void read_record(const nlohmann::json& record, int line, NcclTestTable& table) {
  if (const auto header = record.find("header"); header != record.end() && header->is_object())
    table.ranks =
        std::max(table.ranks, static_cast<int>(std::clamp(number_in(*header, "n_ranks"), 0.0, 1e6)));
  const auto call = record.find("coll_perf");
  if (call == record.end() || !call->is_object() || !call->contains("coll") || (*call)["coll"] != "AllReduce")
    return;
  const double bytes = number_in(*call, "coll_msg_size_bytes");
  if (!(bytes > 0 && bytes < 1e15)) return;
  table.rows.push_back({static_cast<Bytes>(bytes), number_in(*call, "coll_exec_time_us"),
                        number_in(*call, "coll_busbw_gbs"), line});
}

}  // namespace

NcclTestTable parse_inspector(std::string_view lines, const std::string& name) {
  NcclTestTable table;
  table.file = name;
  table.collective = Collective::all_reduce;
  int line = 0;
  for (const auto raw : split(lines, '\n')) {
    ++line;
    const auto record = nlohmann::json::parse(raw, nullptr, false);
    if (record.is_object()) read_record(record, line, table);
  }
  return table;
}

NcclTestTable parse_nccl_tests(std::string_view text, const std::string& name) {
  NcclTestTable table;
  table.asked = largest_asked(text);
  table.file = name;
  int line = 0;
  bool reduces = false;
  std::set<std::string> hosts;
  for (const auto raw : split(text, '\n')) {
    ++line;
    const auto words = blank_words(raw);
    if (!table.collective) table.collective = find_test(raw);
    if (words.size() > 3 && words[0] == "#" && words[1] == "Rank") {
      ++table.ranks;
      if (const auto host = find_host(words)) hosts.insert(*host);
      if (const auto bracket = raw.rfind(']'); bracket != std::string_view::npos)
        table.gpu = std::string(trim(raw.substr(bracket + 1)));
    } else if (auto row = find_row(words)) {
      row->line = line;
      table.rows.push_back(*row);
      reduces = reduces || words[3] != "none";
    }
  }
  if (!table.collective && reduces) table.collective = Collective::all_reduce;
  table.hosts = static_cast<int>(hosts.size());
  return table;
}

}  // namespace gradwire
