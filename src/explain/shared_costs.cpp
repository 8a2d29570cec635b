// Several findings can be about the same communication. What they cost together is at most what there is of it, so each
// millisecond is said once: with the first that has it.
#include <algorithm>

#include "explain/case_file.h"

namespace gradwire {
namespace {

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
    if (finding.of_communication) left = std::max(left, finding.cost_ms.value_or(0));
  for (Finding& finding : findings) {
    if (!finding.cost_ms || !finding.of_communication) continue;
    if (*finding.cost_ms <= left * (1 + 1e-9)) {
      left -= *finding.cost_ms;
      continue;
    }
    finding.cost_ms.reset();
    finding.cost_note = "counted above: it is the same communication";
  }
}

}  // namespace gradwire
