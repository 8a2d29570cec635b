#include "report/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "report/wrap.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostRankRows = 16, kMostCollectiveRows = 12;
constexpr int kBarWidth = 76;

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
          {'o', "other computing", shares.parts.other},
          {'.', "idle", shares.idle}};
}

std::string share_bar(const std::vector<ShareRow>& rows, Seconds step) {
  std::string bar;
  Seconds sum = 0;
  for (const ShareRow& row : rows) {
    sum += row.time;
    const auto end = static_cast<std::size_t>(std::lround(step > 0 ? sum / step * kBarWidth : 0));
    bar.resize(std::max(bar.size(), end), row.mark);
  }
  return bar;
}

StepShares mean_over_ranks(const RunAnalysis& analysis) {
  std::vector<RankStep> all;
  for (const AnalyzedRank& rank : analysis.ranks) all.push_back({0, {}, rank.summary.mean});
  return mean_of(all);
}

std::string step_section(const RunAnalysis& analysis) {
  const StepShares mean = mean_over_ranks(analysis);
  const auto rows = share_rows(mean);
  std::string text =
      fmt::format("A step of {:.3f} ms{}\n  [{}]\n", mean.step() * 1e3,
                  analysis.ranks.size() > 1 ? ", mean of the ranks" : "", share_bar(rows, mean.step()));
  for (const ShareRow& row : rows)
    if (row.time > 0)
      text += fmt::format("  {} {:<24}{:>11.3f} ms  {:5.1f} %\n", row.mark, row.name, row.time * 1e3,
                          row.time / mean.step() * 100);
  if (mean.parts.comm_overlapped > 0)
    text += fmt::format("    {:<24}{:>11.3f} ms  under the above: {:.0f} % of all of it\n",
                        "communication hidden", mean.parts.comm_overlapped * 1e3,
                        mean.parts.hidden_share() * 100);
  return text;
}

std::string ranks_section(const RunAnalysis& analysis) {
  std::string text = fmt::format("{:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8}\n", "rank", "steps",
                                 "step ms", "compute", "exposed", "hidden", "input", "idle", "waits");
  std::size_t shown = 0;
  for (const AnalyzedRank& rank : analysis.ranks) {
    if (++shown > kMostRankRows) break;
    const StepShares& mean = rank.summary.mean;
    text += fmt::format("{:>5} {:>5} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>8.3f} {:>8.3f} {:>8.3f}\n",
                        rank.summary.rank, rank.steps, mean.step() * 1e3, mean.computing() * 1e3,
                        mean.parts.comm_exposed * 1e3, mean.parts.comm_overlapped * 1e3,
                        mean.parts.data * 1e3, mean.idle * 1e3, rank.summary.wait * 1e3);
  }
  if (analysis.ranks.size() > kMostRankRows)
    text += fmt::format("  and {} more ranks, all in --json\n", analysis.ranks.size() - kMostRankRows);
  return text;
}

std::string rate_cell(double gbps) { return gbps > 0 ? fmt::format("{:.2f}", gbps) : "-"; }

std::string collective_line(const CollectiveRow& row) {
  return fmt::format("  {:<14.14} {:>10} {:>5} {:>6} {:>9} {:>9} {:>7} {:>7}\n", printable(row.collective),
                     row.bytes > 0 ? format_bytes(row.bytes) : "-",
                     row.ranks > 0 ? std::to_string(row.ranks) : "-", row.count,
                     fmt::format("{:.1f}", row.transfer * 1e6),
                     row.matched ? fmt::format("{:.1f}", row.wait * 1e6) : "-", rate_cell(row.busbw_gbps),
                     row.expected_busbw_gbps ? rate_cell(*row.expected_busbw_gbps) : "-");
}

std::string collectives_section(const RunAnalysis& analysis) {
  if (analysis.collectives.empty()) return "\nNo collective in the trace.\n";
  std::string text = fmt::format("\n  {:<14} {:>10} {:>5} {:>6} {:>9} {:>9} {:>7} {:>7}\n", "collective",
                                 "bytes", "ranks", "calls", "time us", "wait us", "busbw", "should");
  for (std::size_t i = 0; i < std::min(analysis.collectives.size(), kMostCollectiveRows); ++i)
    text += collective_line(analysis.collectives[i]);
  if (analysis.collectives.size() > kMostCollectiveRows)
    text += fmt::format("  and {} more kinds, all in --json\n",
                        analysis.collectives.size() - kMostCollectiveRows);
  return text;
}

}  // namespace

std::string analysis_text(const RunAnalysis& analysis) {
  std::string text =
      wrapped(fmt::format("{}: {}.", to_string(analysis.verdict.bottleneck), analysis.verdict.reason), 2) +
      "\n";
  text += step_section(analysis);
  if (analysis.ranks.size() > 1) text += "\n" + ranks_section(analysis);
  text += collectives_section(analysis);
  if (!analysis.notes.empty()) text += "\n";
  for (const std::string& note : analysis.notes) text += wrapped("  note: " + printable(note), 8);
  return text;
}

}  // namespace gradwire
