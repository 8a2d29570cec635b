// What the rates of a run's collectives say of the links below them.
#include <fmt/format.h>

#include <algorithm>

#include "explain/trace_words.h"

namespace gradwire {
namespace {

// Rates far below what the machine should give, for calls whose transfer is known.
void check_busbw(const CaseFile& given, std::vector<Finding>& findings) {
  const Machine* machine = given.find_rated();
  if (machine == nullptr) return;
  for (const CollectiveRow& row : given.analysis->collectives) {
    if (!row.matched || !row.expected_busbw_gbps || row.bytes < (4 << 20) ||
        row.busbw_gbps > 0.5 * *row.expected_busbw_gbps)
      continue;
    const double lost = 1 - row.busbw_gbps / *row.expected_busbw_gbps;
    Finding finding = communication_finding(
        "R11", Severity::high,
        fmt::format("{} of {} over {} ranks", row.collective.word, format_bytes(row.bytes), row.ranks),
        row.exposed * lost);
    finding.slow = true;
    finding.what = fmt::format("{} reaches {:.1f} GB/s of busbw; {} should give {:.0f}", row.collective.word,
                               row.busbw_gbps, machine->name, *row.expected_busbw_gbps);
    finding.cost_note = "by the model of NCCL on this machine";
    finding.fix = "run with NCCL_DEBUG=INFO and give the log to gradwire doctor";
    findings.push_back(std::move(finding));
    return;  // the worst by time is enough
  }
}

// What TCP carries over Ethernet of 1 Gbit/s: 94.1 % of the line, the rest is headers.
constexpr double kSlowestNetworkGbps = 0.1177;
constexpr Seconds kLongCall = 10e-3;  // less may be latency, or a core that is busy
constexpr Bytes kWorthALink =
    64 << 10;  // fewer any network carries in half a millisecond: something else held them up

// Somebody else runs on the cores of a rank: its calls are slow for that, whatever carries them.
Seconds waited_for_cores(const std::vector<WatchNotes>& all) {
  double most = 0;
  for (const WatchNotes& notes : all) most = std::max(most, notes.waited_ms.value_or(0));
  return most * 1e-3;
}

bool is_slower_than_any_network(const CollectiveRow& row) {
  return row.matched && row.collective.kind && !is_point_to_point(*row.collective.kind) &&
         row.transfer >= kLongCall && row.bytes >= kWorthALink && row.busbw_gbps > 0 &&
         row.busbw_gbps < kSlowestNetworkGbps;
}

// What of a step these calls leave exposed without waiting for a rank that comes later, and would not over the slowest
// network that is sold.
Seconds lost_to_the_link(const CollectiveRow& row) {
  const Seconds moving = std::max(0.0, row.exposed - row.wait * row.each_step);
  return moving * (1 - row.busbw_gbps / kSlowestNetworkGbps);
}

// A link that is limited, half broken, or not the one that was meant.
void check_slow_link(const CaseFile& given, std::vector<Finding>& findings) {
  const RunAnalysis& analysis = *given.analysis;
  const CollectiveRow* worst = nullptr;
  Seconds lost = 0;
  for (const CollectiveRow& row : analysis.collectives) {
    if (!is_slower_than_any_network(row)) continue;
    const Seconds of_row = lost_to_the_link(row);
    if (worst == nullptr || of_row > lost_to_the_link(*worst)) worst = &row;
    lost += of_row;
  }
  const Seconds least = std::max(kWorthSaying * mean_step(analysis), waited_for_cores(given.files.notes));
  if (worst == nullptr || lost < least) return;
  Finding finding = communication_finding(
      "R36", Severity::high,
      fmt::format("{}: {} of {} takes {:.1f} ms, waiting left out", short_name(analysis.ranks[0].file),
                  worst->collective.word, format_bytes(worst->bytes), worst->transfer * 1e3),
      lost);
  finding.what = fmt::format(
      "the link carries {:.3f} Gbit/s, less than the slowest Ethernet (1 Gbit/s), and nothing hides it",
      worst->busbw_gbps * 8);
  finding.cost_note = "against Ethernet of 1 Gbit/s; a faster link gives more";
  finding.fix =
      "ethtool INTERFACE; tc qdisc show  # its speed, a limit on it; NCCL_SOCKET_IFNAME or "
      "GLOO_SOCKET_IFNAME names "
      "another; ip route";
  findings.push_back(std::move(finding));
}

}  // namespace

Finding trace_finding(const char* rule, Severity severity, std::string evidence, Seconds cost) {
  Finding finding;
  finding.rule = rule;
  finding.severity = severity;
  finding.evidence = std::move(evidence);
  finding.cost_ms = cost * 1e3;
  finding.cost_note = "measured in the trace";
  return finding;
}

Finding communication_finding(const char* rule, Severity severity, std::string evidence, Seconds cost) {
  Finding finding = trace_finding(rule, severity, std::move(evidence), cost);
  finding.of_communication = true;
  return finding;
}

void add_link_findings(const CaseFile& given, std::vector<Finding>& findings) {
  check_busbw(given, findings);
  check_slow_link(given, findings);
}

}  // namespace gradwire
