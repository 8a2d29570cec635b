#include "import/nccl_tests.h"

#include <fmt/format.h>

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

// "[0]  1048576 ... -1[0]  366.5 ...": a launcher's mark before each piece that a rank wrote. It is blanked.
std::string without_marks(std::string_view line) {
  std::string text(line);
  const auto close = text.find(']');
  const bool marked = text.starts_with('[') && close != std::string::npos && close > 1 &&
                      text.find_first_not_of("0123456789", 1) == close;
  if (!marked) return text;
  const std::string mark = text.substr(0, close + 1);
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + mark.size()))
    text.replace(at, mark.size(), mark.size(), ' ');
  return text;
}

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

// What stands behind each busbw, as the heading has it: how many values are wrong, or, of old, by how much the worst is.
enum class CheckColumn { none, wrong, error };

CheckColumn check_column(const std::vector<std::string_view>& words, CheckColumn known) {
  if (std::ranges::find(words, "busbw") == words.end()) return known;
  const auto names = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  return names("#wrong") ? CheckColumn::wrong : names("error") ? CheckColumn::error : CheckColumn::none;
}

// What nccl-tests of old let pass; versions differ for numbers of 2 bytes, and the larger counts.
double largest_error_of(std::string_view type) {
  if (type == "half" || type == "bfloat16") return 5e-2;
  return type == "float" ? 1e-5 : type == "double" ? 1e-12 : 0;
}

// Columns from the one with the time on: time algbw busbw check, and the same in place.
std::optional<std::string> find_wrong(const std::vector<std::string_view>& words, std::size_t time,
                                      CheckColumn column) {
  if (column == CheckColumn::none) return std::nullopt;
  const double most = column == CheckColumn::error ? largest_error_of(words[2]) : 0;
  for (const std::size_t at : {time + 3, time + 7})
    if (at < words.size() && decimal(words[at]).value_or(0) > most)
      return fmt::format("{} {} at {}", column == CheckColumn::error ? "error" : "#wrong", words[at],
                         format_bytes(find_integer<Bytes>(words[0]).value_or(0)));
  return std::nullopt;
}

// A row, and which of its words is the time.
struct PlacedRow {
  NcclTestRow row;
  std::size_t time = 0;
};

// size count type redop [root] time algbw busbw: the first decimal with a point is algbw or time, so columns
// are counted from the type, which is the third.
std::optional<PlacedRow> find_row(const std::vector<std::string_view>& words) {
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
  return PlacedRow{{*bytes, *time, *busbw, 0}, at};
}

// "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) ..."
Bytes largest_asked(std::string_view text) {
  constexpr std::string_view kWord = "maxBytes ";
  const auto at = text.find(kWord);
  if (at == std::string_view::npos) return 0;
  const auto digits = text.substr(at + kWord.size());
  return find_integer<Bytes>(digits.substr(0, digits.find_first_not_of("0123456789"))).value_or(0);
}

// "# Out of bounds values : 56 FAILED": what came out is not what it should be.
bool tells_of_wrong_values(std::string_view line) {
  const auto at = line.find("Out of bounds values");
  return at != std::string_view::npos && line.find("FAILED", at) != std::string_view::npos;
}

void take_wrong(std::string words, int line, NcclTestTable& table) {
  if (table.wrong_line > 0) return;
  table.wrong_line = line;
  table.wrong_words = std::move(words);
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

bool looks_like_nccl_rows(std::string_view text) {
  constexpr int kEnough = 3, kMostLooked = 200;
  int rows = 0, looked = 0;
  for (const auto raw : split(text, '\n')) {
    if (rows >= kEnough || ++looked > kMostLooked) break;
    const std::string unmarked = without_marks(raw);
    const auto found = find_row(blank_words(unmarked));
    rows += found && found->row.bytes > 0 && found->row.time_us > 0;
  }
  return rows >= kEnough;
}

NcclTestTable parse_nccl_tests(std::string_view text, const std::string& name) {
  NcclTestTable table;
  table.asked = largest_asked(text);
  table.file = name;
  int line = 0;
  bool reduces = false;
  CheckColumn checked = CheckColumn::none;
  std::set<std::string> hosts;
  for (const auto raw : split(text, '\n')) {
    ++line;
    const std::string unmarked = without_marks(raw);
    const auto words = blank_words(unmarked);
    if (tells_of_wrong_values(raw)) take_wrong("Out of bounds values", line, table);
    checked = check_column(words, checked);
    if (!table.collective) table.collective = find_test(raw);
    if (words.size() > 3 && words[0] == "#" && words[1] == "Rank") {
      ++table.ranks;
      if (const auto host = find_host(words)) hosts.insert(*host);
      if (const auto bracket = raw.rfind(']'); bracket != std::string_view::npos)
        table.gpu = std::string(trim(raw.substr(bracket + 1)));
    } else if (auto found = find_row(words)) {
      found->row.line = line;
      table.rows.push_back(found->row);
      if (const auto wrong = find_wrong(words, found->time, checked)) take_wrong(*wrong, line, table);
      reduces = reduces || words[3] != "none";
    }
  }
  if (!table.collective && reduces) table.collective = Collective::all_reduce;
  table.hosts = static_cast<int>(hosts.size());
  return table;
}

}  // namespace gradwire
