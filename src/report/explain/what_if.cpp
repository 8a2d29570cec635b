#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/explain/explain.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

// As far apart as what is printed.
bool is_open(const WhatIf& row) { return row.most > row.step * 1.005; }

// In four digits, more only before the point.
std::string in_ms(Seconds time) {
  const double ms = time * 1e3;
  return fmt::format("{:.{}f}", ms, ms < 99.995 ? 2 : ms < 999.95 ? 1 : 0);
}

std::string step_range(const WhatIf& row) {
  std::string range = in_ms(row.step);
  if (is_open(row)) range += " to " + in_ms(row.most);
  return row.relative_error > 0 ? range + fmt::format(" +-{:.0f} %", row.relative_error * 100) : range;
}

// A machine's name says its links.
std::string label_of(const WhatIf& row) {
  constexpr std::size_t kMostOfAName = 27;
  return printable(row.on.empty() ? row.what : row.on).substr(0, kMostOfAName);
}

double times_faster(Seconds measured, Seconds step) { return step > 0 ? measured / step : 1; }

std::string faster_range(const WhatIf& row, Seconds measured) {
  const std::string most = fmt::format("{:.2f}x", times_faster(measured, row.step));
  return is_open(row) ? fmt::format("{:.2f}x to {}", times_faster(measured, row.most), most) : most;
}

std::string why_open(const WhatIfs& found) {
  return found.ranks_here < found.world
             ? fmt::format(
                   "Waiting stays as it was, and with {} of {} ranks here it can't be told from transfer: "
                   "the "
                   "first figure is right if none of it was waiting; give the traces of all ranks.",
                   found.ranks_here, found.world)
             : "Waiting stays as it was, and the all-reduces of these ranks do not match, so that it can't "
               "be "
               "told from transfer: the first figure is right if none of it was waiting.";
}

Json what_if_row_json(const WhatIf& row, Seconds measured) {
  return {{"what", row.what},
          {"on", row.on.empty() ? Json(nullptr) : Json(row.on)},
          {"step_ms", row.step * 1e3},
          {"comm_exposed_ms", row.exposed * 1e3},
          {"relative_error", row.relative_error},
          {"step_ms_most", row.most * 1e3},
          {"speedup", times_faster(measured, row.step)},
          {"speedup_least", times_faster(measured, row.most)}};
}

}  // namespace

Report what_if_report(const WhatIfs& found) {
  Report report;
  Json rows = Json::array();
  for (const WhatIf& row : found.rows) rows.push_back(what_if_row_json(row, found.step));
  report.data = {{"step_ms", found.step * 1e3},
                 {"comm_exposed_ms", found.exposed * 1e3},
                 {"rows", rows},
                 {"missing", found.missing}};
  if (found.rows.empty() && found.missing.empty()) return report;
  report.add(Title{"The same run otherwise: computing as measured, gradients as recorded"});
  Table table{{{"", "step ms", "exposed", "faster"}}, 1, false};
  table.rows.push_back({"  as it ran", in_ms(found.step), in_ms(found.exposed), ""});
  for (const WhatIf& row : found.rows)
    table.rows.push_back(
        {"  " + label_of(row), step_range(row), in_ms(row.exposed), faster_range(row, found.step)});
  if (!found.rows.empty()) report.add(std::move(table));
  if (std::any_of(found.rows.begin(), found.rows.end(), is_open))
    report.add(Sentence{why_open(found), "  ", "  "});
  for (const std::string& why : found.missing)
    report.add(Sentence{"No answer for other links: " + printable(why) + ".", "  ", "    "});
  return report;
}

}  // namespace gradwire
