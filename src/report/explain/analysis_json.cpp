#include "report/explain/explain.h"
#include "report/step_chart.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

Json step_shares_json(const StepShares& shares) {
  Json parts = breakdown_json(shares.parts);
  parts["copies"] = shares.copies * 1e3;
  parts["idle"] = shares.idle * 1e3;
  return parts;
}

Json gpu_totals_json(const GpuTotals& gpu) {
  const auto ms = [](Nanoseconds time) { return static_cast<double>(time) * 1e-6; };
  return {{"span", ms(gpu.span)},       {"compute", ms(gpu.compute)}, {"comm", ms(gpu.comm)},
          {"overlap", ms(gpu.overlap)}, {"copies", ms(gpu.copies)},   {"idle", ms(gpu.idle)}};
}

Json analyzed_rank_json(const AnalyzedRank& rank) {
  return {{"rank", rank.summary.rank},
          {"file", rank.file},
          {"steps", rank.steps},
          {"steps_from", to_string(rank.steps_from)},
          {"step_ms", rank.summary.mean.step() * 1e3},
          {"breakdown_ms", step_shares_json(rank.summary.mean)},
          {"idle_ms",
           {{"sync", rank.summary.mean.idle_sync * 1e3}, {"quiet", rank.summary.mean.idle_quiet * 1e3}}},
          {"gpu_ms", gpu_totals_json(rank.gpu)},
          {"kernels", rank.gpu.kernels},
          {"collective_kernels", rank.gpu.collectives},
          {"wait_ms", rank.summary.wait * 1e3},
          {"came_last", rank.summary.last_share}};
}

Json known_or_null(bool known, double value) { return known ? Json(value) : Json(nullptr); }

Json collective_row_json(const CollectiveRow& row) {
  return {{"collective", row.collective.word},
          {"group", row.group},
          {"bytes", row.bytes > 0 ? Json(row.bytes) : Json(nullptr)},
          {"ranks", row.ranks > 0 ? Json(row.ranks) : Json(nullptr)},
          {"count", row.count},
          {"time_us", row.time * 1e6},
          {"transfer_us", known_or_null(row.matched, row.transfer * 1e6)},
          {"wait_us", known_or_null(row.matched, row.wait * 1e6)},
          {"exposed_ms", row.exposed * 1e3},
          {"algbw_gbps", known_or_null(row.bytes > 0, row.algbw_gbps)},
          {"busbw_gbps", known_or_null(row.bytes > 0, row.busbw_gbps)},
          {"expected_busbw_gbps",
           known_or_null(row.expected_busbw_gbps.has_value(), row.expected_busbw_gbps.value_or(0))}};
}

Json bottleneck_json(const BottleneckVerdict& verdict) {
  Json figures = Json::array();
  for (const VerdictFigure& figure : verdict.figures)
    figures.push_back({{"what", figure.what}, {"value", figure.value}, {"unit", figure.unit}});
  return {{"bottleneck", to_string(verdict.bottleneck)},
          {"rank", verdict.rank ? Json(*verdict.rank) : Json(nullptr)},
          {"reason", verdict.reason},
          {"figures", figures}};
}

}  // namespace

Json analysis_json(const RunAnalysis& analysis) {
  Json ranks = Json::array(), collectives = Json::array(), odd = Json::array();
  for (const OddStep& step : analysis.odd_steps) odd.push_back(step.number);
  for (const AnalyzedRank& rank : analysis.ranks) ranks.push_back(analyzed_rank_json(rank));
  for (const CollectiveRow& row : analysis.collectives) collectives.push_back(collective_row_json(row));
  return {{"ranks", ranks},
          {"collectives", collectives},
          {"odd_steps", odd},
          {"verdict", bottleneck_json(analysis.verdict)},
          {"world", analysis.world ? Json(*analysis.world) : Json(nullptr)},
          {"gpu", analysis.gpu},
          {"notes", analysis.notes}};
}

}  // namespace gradwire
