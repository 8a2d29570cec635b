#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/explain/explain.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostRankRows = 16, kMostCollectiveRows = 12;
constexpr int kShareBarWidth = 76;

struct ShareRow {
  char mark;
  const char* name;
  Seconds time;
};

std::vector<ShareRow> share_rows(const StepShares& shares) {
  return {{'D', "waiting for input", shares.parts.data},
          {'C', "copies", shares.copies},
          {'F', "forward", shares.parts.forward},
          {'B', "backward", shares.parts.backward},
          {'X', "communication exposed", shares.parts.comm_exposed},
          {'O', "optimizer", shares.parts.optimizer},
          {'o', "other", shares.parts.other},
          {'.', "idle", shares.idle}};
}

std::string share_bar(const std::vector<ShareRow>& rows, Seconds step) {
  std::string bar;
  Seconds sum = 0;
  for (const ShareRow& row : rows) {
    sum += row.time;
    const auto end = static_cast<std::size_t>(std::lround(step > 0 ? sum / step * kShareBarWidth : 0));
    bar.resize(std::max(bar.size(), end), row.mark);
  }
  return "  [" + bar + "]\n";
}

StepShares mean_over_ranks(const RunAnalysis& analysis) {
  std::vector<RankStep> all;
  for (const AnalyzedRank& rank : analysis.ranks) all.push_back({0, {}, rank.summary.mean, 0});
  return mean_of(all);
}

// Nine such columns fit a terminal.
std::string short_ms(Seconds time) {
  return time >= 0.1 ? fmt::format("{:.1f}", time * 1e3) : fmt::format("{:.3f}", time * 1e3);
}

void add_shares_of_step(Report& report, const RunAnalysis& analysis) {
  const StepShares mean = mean_over_ranks(analysis);
  const auto rows = share_rows(mean);
  report.add(Title{fmt::format("A step of {:.3f} ms{}", mean.step() * 1e3,
                               analysis.ranks.size() > 1 ? ", mean of the ranks" : "")},
             Drawing{share_bar(rows, mean.step())});
  Table table{{{"", "", "ms", "%"}}, 2, false};
  for (const ShareRow& row : rows)
    if (row.time > 0)
      table.rows.push_back({std::string("  ") + row.mark, row.name, short_ms(row.time),
                            fmt::format("{:.1f}", row.time / mean.step() * 100)});
  report.add(std::move(table));
  if (mean.parts.comm_overlapped > 0)
    report.add(Sentence{fmt::format("communication hidden under the above: {:.3f} ms, {:.0f} % of all of it",
                                    mean.parts.comm_overlapped * 1e3, mean.parts.hidden_share() * 100),
                        "  ", "  "});
}

void add_rank_table(Report& report, const RunAnalysis& analysis) {
  Table table{
      {{"rank", "steps", "step ms", "compute", "exposed", "hidden", "input", "idle", "waits"}}, 0, false};
  for (const AnalyzedRank& rank : analysis.ranks) {
    if (table.rows.size() > kMostRankRows) break;
    const StepShares& mean = rank.summary.mean;
    table.rows.push_back({std::to_string(rank.summary.rank), std::to_string(rank.steps),
                          short_ms(mean.step()), short_ms(mean.computing()),
                          short_ms(mean.parts.comm_exposed), short_ms(mean.parts.comm_overlapped),
                          short_ms(mean.parts.data), short_ms(mean.idle), short_ms(rank.summary.wait)});
  }
  report.add(Gap{}, std::move(table));
  if (analysis.ranks.size() > kMostRankRows)
    report.add(Sentence{
        fmt::format("and {} more ranks, all in --json", analysis.ranks.size() - kMostRankRows), "  ", "  "});
}

std::string gbps_cell(double gbps) { return gbps > 0 ? fmt::format("{:.2f}", gbps) : "-"; }

std::vector<std::string> collective_cells(const CollectiveRow& row) {
  return {printable(row.collective.word).substr(0, 14),
          row.bytes > 0 ? format_bytes(row.bytes) : "-",
          row.ranks > 0 ? std::to_string(row.ranks) : "-",
          std::to_string(row.count),
          fmt::format("{:.1f}", row.transfer * 1e6),
          row.matched ? fmt::format("{:.1f}", row.wait * 1e6) : "-",
          gbps_cell(row.busbw_gbps),
          row.expected_busbw_gbps ? gbps_cell(*row.expected_busbw_gbps) : "-"};
}

void add_collective_table(Report& report, const RunAnalysis& analysis) {
  if (analysis.collectives.empty()) return report.add(Gap{}, Sentence{"No collective in the trace."});
  Table table{{{"collective", "bytes", "ranks", "calls", "time us", "wait us", "busbw", "should"}}, 1, false};
  for (std::size_t i = 0; i < std::min(analysis.collectives.size(), kMostCollectiveRows); ++i)
    table.rows.push_back(collective_cells(analysis.collectives[i]));
  report.add(Gap{}, std::move(table));
  if (analysis.collectives.size() > kMostCollectiveRows)
    report.add(Sentence{
        fmt::format("and {} more kinds, all in --json", analysis.collectives.size() - kMostCollectiveRows),
        "  ", "  "});
}

}  // namespace

Report analysis_report(const RunAnalysis& analysis) {
  Report report;
  report.data = analysis_json(analysis);
  report.add(Sentence{fmt::format("{}: {}.", to_string(analysis.verdict.bottleneck), analysis.verdict.reason),
                      "", "  "},
             Gap{});
  add_shares_of_step(report, analysis);
  if (analysis.ranks.size() > 1) add_rank_table(report, analysis);
  add_collective_table(report, analysis);
  if (!analysis.notes.empty()) report.add(Gap{});
  for (const std::string& note : analysis.notes)
    report.add(Sentence{"note: " + printable(note), "  ", "        "});
  return report;
}

}  // namespace gradwire
