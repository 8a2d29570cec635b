#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/explain/explain.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

std::string cost_words(const Finding& finding) {
  if (!finding.cost_ms)
    return finding.cost_note.empty() ? "can't be said from this: give a trace too" : finding.cost_note;
  return fmt::format("{:.1f} ms a step{}", *finding.cost_ms,
                     finding.cost_note.empty() ? "" : " (" + finding.cost_note + ")");
}

void add_finding(Report& report, const Finding& finding, std::size_t number) {
  report.add(Sentence{fmt::format("{:>2}. {} [{}, {}, {}]", number, printable(finding.what), finding.rule,
                                  to_string(finding.severity), to_string(finding.sure)),
                      "", "    "},
             Sentence{"seen   " + printable(finding.evidence), "    ", "           "});
  if (!finding.ends_the_run || finding.cost_ms || !finding.cost_note.empty())
    report.add(Sentence{"costs  " + cost_words(finding), "    ", "           "});
  report.add(Sentence{"mend   " + printable(finding.fix), "    ", "           "});
}

Sentence hint_sentence(const Finding& hint) {
  return {fmt::format("- {} ({}): {}", printable(hint.what), printable(hint.evidence), printable(hint.fix)),
          "  ", "    "};
}

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

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back(finding_json(finding));
  return list;
}

std::string as_sentence(const std::string& words) {
  std::string text = printable(words) + ".";
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string nothing_found(std::size_t hints) {
  if (hints == 0) return "Nothing wrong was found.";
  return hints == 1 ? "Nothing is proved wrong; a hint is below."
                    : fmt::format("Nothing is proved wrong; {} hints are below.", hints);
}

// Of a run that died, or a script, nobody asks; the JSON has it all the same.
bool is_beside_the_point(const Diagnosis& diagnosis) {
  const bool known =
      diagnosis.nvlink.present != Answered::unknown || diagnosis.nvlink.used != Answered::unknown;
  const bool script = diagnosis.looked_at.size() == 1 && diagnosis.looked_at[0].ends_with("script");
  return !known && (script || std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                          [](const Finding& one) { return one.ends_the_run; }));
}

}  // namespace

Json diagnosis_json(const Diagnosis& diagnosis) {
  return {{"findings", findings_json(diagnosis.findings)},
          {"hints", findings_json(diagnosis.hints)},
          {"nvlink",
           {{"present", to_string(diagnosis.nvlink.present)},
            {"used", to_string(diagnosis.nvlink.used)},
            {"why", diagnosis.nvlink.why}}},
          {"no_gpu", diagnosis.no_gpu.empty() ? Json(nullptr) : Json(diagnosis.no_gpu)},
          {"looked_at", diagnosis.looked_at},
          {"left_out", diagnosis.left_out},
          {"notes", diagnosis.notes}};
}

Report diagnosis_report(const Diagnosis& diagnosis) {
  Report report;
  report.data = diagnosis_json(diagnosis);
  if (!diagnosis.no_gpu.empty())
    report.add(Sentence{
        as_sentence(diagnosis.no_gpu) + " Give the files of the machine and the run in question.", "", "  "});
  if (diagnosis.findings.empty())
    report.add(Sentence{fmt::format("{} Looked at: {}.", nothing_found(diagnosis.hints.size()),
                                    join(diagnosis.looked_at, ", ")),
                        "", "  "});
  for (std::size_t i = 0; i < diagnosis.findings.size(); ++i)
    add_finding(report, diagnosis.findings[i], i + 1);
  const NvlinkAnswer& nvlink = diagnosis.nvlink;
  if (!is_beside_the_point(diagnosis))
    report.add(Gap{}, Sentence{fmt::format("NVLink: present {}, used {}: {}.", to_string(nvlink.present),
                                           to_string(nvlink.used), nvlink.why),
                               "", "  "});
  if (!diagnosis.hints.empty()) report.add(Gap{}, Sentence{"Not proved, but worth a look:"});
  for (const Finding& hint : diagnosis.hints) report.add(hint_sentence(hint));
  if (!diagnosis.left_out.empty() || !diagnosis.notes.empty()) report.add(Gap{});
  for (const std::string& note : diagnosis.notes)
    report.add(Sentence{"note: " + printable(note), "  ", "        "});
  for (const std::string& file : diagnosis.left_out)
    report.add(Sentence{"left out: " + printable(file), "  ", "            "});
  return report;
}

}  // namespace gradwire
