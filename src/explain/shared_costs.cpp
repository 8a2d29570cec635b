// Several findings can be about the same communication. What they cost together is at most what there is of it, so each
// millisecond is said once: with the first that has it.
#include <algorithm>
#include <array>

#include "explain/case_file.h"

namespace gradwire {
namespace {

bool is_about_communication(const Finding& finding) {
  constexpr std::array<std::string_view, 11> kRules = {"R05", "R06", "R11", "R12", "R17", "R24",
                                                       "R25", "R26", "R27", "R32", "R36"};
  return finding.of_communication || std::ranges::find(kRules, finding.rule) != kRules.end();
}

// What a trace could price and did not, or another file would.
void say_what_would_price(const CaseFile& given, Finding& finding) {
  if (finding.cost_ms || !finding.cost_note.empty() || !given.analysis) return;
  finding.cost_note = given.machine ? "these traces do not tell"
                                    : "these traces do not tell; --on MACHINE says what it should be";
}

}  // namespace

void share_costs(const CaseFile& given, std::vector<Finding>& findings) {
  for (Finding& finding : findings) say_what_would_price(given, finding);
  if (!given.analysis || given.analysis->ranks.empty()) return;
  double left = mean_exposed(*given.analysis) * 1e3;
  for (const Finding& finding : findings)
    if (is_about_communication(finding)) left = std::max(left, finding.cost_ms.value_or(0));
  for (Finding& finding : findings) {
    if (!finding.cost_ms || !is_about_communication(finding)) continue;
    if (*finding.cost_ms <= left * (1 + 1e-9)) {
      left -= *finding.cost_ms;
      continue;
    }
    finding.cost_ms.reset();
    finding.cost_note = "counted above: it is the same communication";
  }
}

}  // namespace gradwire
