#include <fmt/format.h>

#include "base/text.h"
#include "report/explain/explain.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

std::string step_range(const WhatIf& row) {
  if (row.relative_error <= 0) return fmt::format("{:.2f}", row.step * 1e3);
  return fmt::format("{:.2f} +-{:.0f} %", row.step * 1e3, row.relative_error * 100);
}

Json what_if_row_json(const WhatIf& row, Seconds measured) {
  return {{"what", row.what},
          {"on", row.on.empty() ? Json(nullptr) : Json(row.on)},
          {"step_ms", row.step * 1e3},
          {"comm_exposed_ms", row.exposed * 1e3},
          {"relative_error", row.relative_error},
          {"speedup", row.step > 0 ? measured / row.step : 1}};
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
  table.rows.push_back({"  as it ran", fmt::format("{:.2f}", found.step * 1e3),
                        fmt::format("{:.2f}", found.exposed * 1e3), ""});
  for (const WhatIf& row : found.rows)
    table.rows.push_back({"  " + (row.on.empty() ? row.what : row.what + " (" + printable(row.on) + ")"),
                          step_range(row), fmt::format("{:.2f}", row.exposed * 1e3),
                          fmt::format("{:.2f}x", row.step > 0 ? found.step / row.step : 1)});
  if (!found.rows.empty()) report.add(std::move(table));
  for (const std::string& why : found.missing)
    report.add(Sentence{"No answer for other links: " + printable(why) + ".", "  ", "    "});
  return report;
}

}  // namespace gradwire
