#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/explain/explain.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostRecordedRows = 12;

Json figure_or_null(bool known, double value) { return known ? Json(value) : Json(nullptr); }

Json recorded_row_json(const RecordedRow& recorded) {
  const CollectiveRow& row = recorded.row;
  return {{"collective", row.collective.word},
          {"group", row.group},
          {"bytes", row.bytes > 0 ? Json(row.bytes) : Json(nullptr)},
          {"ranks", row.ranks > 0 ? Json(row.ranks) : Json(nullptr)},
          {"count", row.count},
          {"time_us", figure_or_null(recorded.timed, row.time * 1e6)},
          {"transfer_us", figure_or_null(row.matched, row.transfer * 1e6)},
          {"wait_us", figure_or_null(row.matched, row.wait * 1e6)},
          {"busbw_gbps", figure_or_null(row.busbw_gbps > 0, row.busbw_gbps)},
          {"expected_busbw_gbps",
           figure_or_null(row.expected_busbw_gbps.has_value(), row.expected_busbw_gbps.value_or(0))},
          {"way", recorded.way}};
}

std::vector<std::string> recorded_cells(const RecordedRow& recorded) {
  const CollectiveRow& row = recorded.row;
  const auto cell = [](bool known, double value, int digits) {
    return known ? fmt::format("{:.{}f}", value, digits) : "-";
  };
  return {printable(row.collective.word).substr(0, 14),
          row.bytes > 0 ? format_bytes(row.bytes) : "-",
          std::to_string(row.count),
          cell(recorded.timed, row.transfer * 1e6, 1),
          cell(row.matched, row.wait * 1e6, 1),
          cell(row.busbw_gbps > 0, row.busbw_gbps, 2),
          cell(row.expected_busbw_gbps.has_value(), row.expected_busbw_gbps.value_or(0), 2),
          printable(recorded.way).substr(0, 18)};
}

}  // namespace

Report recorded_report(const RecordedCalls& calls) {
  Report report;
  report.data = Json::array();
  for (const RecordedRow& row : calls.rows) report.data.push_back(recorded_row_json(row));
  report.add(Title{fmt::format("What NCCL ran, by its own record of {} rank{}", calls.ranks,
                               calls.ranks == 1 ? "" : "s")});
  Table table{{{"collective", "bytes", "calls", "time us", "wait us", "busbw", "should", "how"}}, 1, false};
  for (std::size_t i = 0; i < std::min(calls.rows.size(), kMostRecordedRows); ++i)
    table.rows.push_back(recorded_cells(calls.rows[i]));
  report.add(std::move(table));
  if (calls.rows.size() > kMostRecordedRows)
    report.add(Sentence{
        fmt::format("and {} more kinds, all in --json", calls.rows.size() - kMostRecordedRows), "  ", "  "});
  for (const std::string& note : calls.notes)
    report.add(Sentence{"note: " + printable(note), "  ", "        "});
  return report;
}

namespace {

// Below what is there, and under a name of its own.
void add_part(Report& report, const char* name, Report part) {
  report.data[name] = part.data;
  report.add(Gap{});
  report.append(std::move(part));
}

}  // namespace

Report traces_report(const CaseFile& given, const std::optional<WhatIfs>& others) {
  Report report = analysis_report(*given.analysis);
  if (given.nccl_calls) add_part(report, "nccl_calls", recorded_report(*given.nccl_calls));
  if (others) add_part(report, "what_if", what_if_report(*others));
  return report;
}

Report records_report(const CaseFile& given, const Diagnosis& diagnosis) {
  Report report = diagnosis_report(diagnosis);
  if (given.nccl_calls) add_part(report, "nccl_calls", recorded_report(*given.nccl_calls));
  return report;
}

}  // namespace gradwire
