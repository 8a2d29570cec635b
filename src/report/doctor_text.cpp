#include "report/doctor_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/wrap.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

std::string cost_words(const Finding& finding) {
  if (!finding.cost_ms) return "can't be said from this" + (finding.cost_note.empty() ? std::string(": give a trace too") : ": " + finding.cost_note);
  return fmt::format("{:.1f} ms a step{}", *finding.cost_ms, finding.cost_note.empty() ? "" : " (" + finding.cost_note + ")");
}

std::string finding_text(const Finding& finding, std::size_t number) {
  std::string text = wrapped(fmt::format("{:>2}. {} [{}, {}, {}]", number, printable(finding.what), finding.rule, to_string(finding.severity), to_string(finding.sure)), 4);
  text += wrapped("    seen   " + printable(finding.evidence), 11);
  text += wrapped("    costs  " + cost_words(finding), 11);
  return text + wrapped("    mend   " + printable(finding.fix), 11);
}

std::string hint_text(const Finding& hint) { return wrapped(fmt::format("  - {} ({}): {}", printable(hint.what), printable(hint.evidence), printable(hint.fix)), 4); }

Json finding_json(const Finding& finding) {
  return {{"rule", finding.rule},
          {"severity", to_string(finding.severity)},
          {"sure", to_string(finding.sure)},
          {"what", finding.what},
          {"evidence", finding.evidence},
          {"cost_ms", finding.cost_ms ? Json(*finding.cost_ms) : Json(nullptr)},
          {"cost_note", finding.cost_note},
          {"fix", finding.fix}};
}

Json list_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(finding_json(finding));
  return list;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string text;
  if (diagnosis.findings.empty())
    text += wrapped(fmt::format("Nothing wrong was found. Looked at: {}.", join(diagnosis.looked_at, ", ")), 2);
  for (std::size_t i = 0; i < diagnosis.findings.size(); ++i) text += finding_text(diagnosis.findings[i], i + 1);
  text += wrapped(fmt::format("\nNVLink: present {}, used {}: {}.", to_string(diagnosis.nvlink.present), to_string(diagnosis.nvlink.used), diagnosis.nvlink.why), 2);
  if (!diagnosis.hints.empty()) text += "\nNot proved, but worth a look:\n";
  for (const Finding& hint : diagnosis.hints) text += hint_text(hint);
  return text;
}

Json diagnosis_json(const Diagnosis& diagnosis) {
  return {{"findings", list_json(diagnosis.findings)},
          {"hints", list_json(diagnosis.hints)},
          {"nvlink",
           {{"present", to_string(diagnosis.nvlink.present)}, {"used", to_string(diagnosis.nvlink.used)}, {"why", diagnosis.nvlink.why}}},
          {"looked_at", diagnosis.looked_at}};
}

}  // namespace gradwire
