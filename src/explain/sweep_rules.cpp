// What nccl-tests, or NCCL's record of a run, say is wrong: rates below what the machine should give, or that fall with size, wrong
// values, sweeps that end early.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/case_file.h"

namespace gradwire {
namespace {

constexpr Bytes kTellsARate = 1 << 20;  // of fewer the time is latency

const NcclTestRow& largest_row(const NcclTestTable& table) {
  return *std::max_element(table.rows.begin(), table.rows.end(),
                           [](auto& a, auto& b) { return a.bytes < b.bytes; });
}

// A heading and no row.
void hint_at_silent_sweep(const NcclTestTable& table, std::vector<Finding>& hints) {
  if (table.asked == 0) return;
  Finding hint;
  hint.rule = "R11";
  hint.severity = Severity::low;
  hint.what = "the sweep of nccl-tests came to no size: it hung or died before the first, or was not saved";
  hint.evidence = short_name(table.file);
  hint.fix =
      "again with NCCL_DEBUG=INFO, and give the log to gradwire doctor; NCCL_P2P_DISABLE=1 tells whether "
      "peer "
      "access hangs";
  hints.push_back(std::move(hint));
}

// One rank moves nothing between GPUs. Several that were started without MPI are each the only one.
void hint_at_lonely_ranks(const NcclTestTable& table, std::vector<Finding>& hints) {
  const auto is_zero = [](const NcclTestRow& row) { return row.busbw_gbps == 0; };
  if (table.rows.empty() || largest_row(table).bytes < kTellsARate ||
      !std::all_of(table.rows.begin(), table.rows.end(), is_zero))
    return;
  Finding hint;
  hint.rule = "R11";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what = "busbw is 0 at every size: each rank of nccl-tests ran alone";
  hint.evidence = fmt::format("{}:{}", short_name(table.file), largest_row(table).line);
  hint.fix = "make MPI=1 for ranks that mpirun or srun starts; -g N for N GPUs of one process";
  hints.push_back(std::move(hint));
}

// A sweep that does not come to sizes that tell a rate, or not to those it was asked for.
void hint_at_partial_sweep(const NcclTestTable& table, std::vector<Finding>& hints) {
  if (table.rows.empty()) return hint_at_silent_sweep(table, hints);
  const NcclTestRow& last = largest_row(table);
  if (last.bytes >= std::max(kTellsARate, table.asked)) return;
  Finding hint;
  hint.rule = "R11";
  hint.severity = Severity::low;
  hint.what =
      fmt::format("the sweep of nccl-tests is partial, it ends at {}{}", format_bytes(last.bytes),
                  table.asked > last.bytes ? " of the " + format_bytes(table.asked) + " it was asked for"
                                           : std::string());
  if (last.bytes < kTellsARate) hint.what += ", and sizes below 1 MiB tell latency, not rates";
  hint.evidence = fmt::format("{}:{}", short_name(table.file), last.line);
  hint.fix = "all_reduce_perf -b 8 -e 1G -f 2  # all of it; if it died there, NCCL_DEBUG=INFO says why";
  hints.push_back(std::move(hint));
}

// What nccl-tests reached against what the machine should give, at its largest size. Where values are wrong it means
// nothing.
void check_rates(const CaseFile& given, const NcclTestTable& table, std::vector<Finding>& findings) {
  if (!given.machine || table.rows.empty() || table.wrong_line > 0) return;
  const NcclTestRow& row = largest_row(table);
  if (row.bytes < kTellsARate) return;
  const int ranks = table.ranks > 0 ? table.ranks : static_cast<int>(given.machine->gpus.size());
  const auto expected = find_expected_rate(*given.machine, table.collective, row.bytes, ranks);
  if (!expected || row.busbw_gbps > expected->busbw_gbps * (1 - std::max(0.3, 2 * expected->relative_error)))
    return;
  Finding finding;
  finding.rule = "R11";
  finding.slow = true;
  finding.what = fmt::format("busbw is {:.1f} GB/s at {}; this machine should give {:.0f}", row.busbw_gbps,
                             format_bytes(row.bytes), expected->busbw_gbps);
  finding.evidence = fmt::format("{}:{}", short_name(table.file), row.line);
  finding.fix = "run it again with NCCL_DEBUG=INFO and give the log to gradwire doctor";
  findings.push_back(std::move(finding));
}

// Rates grow with size and stay: where the largest sizes fall to less than half of what smaller ones reached, something gives way
// under load. Between GPUs that share a host caches make smaller sizes faster, by less than that.
void check_collapse(const NcclTestTable& table, std::vector<Finding>& findings) {
  const NcclTestRow* best = nullptr;
  Bytes before = 0;
  int below = 0;  // rows in a row, up to the largest
  for (const NcclTestRow& row : table.rows) {
    if (row.bytes < before) best = nullptr;  // another sweep
    before = row.bytes;
    if (row.bytes < kTellsARate) continue;
    if (best == nullptr || row.busbw_gbps > best->busbw_gbps) best = &row;
    below = row.busbw_gbps < 0.5 * best->busbw_gbps && row.bytes > best->bytes ? below + 1 : 0;
  }
  if (below < 2) return;
  const NcclTestRow& last = table.rows.back();
  Finding finding;
  finding.rule = "R11";
  finding.goes_on = true;
  finding.severity = Severity::high;
  finding.sure = Certainty::likely;
  finding.what =
      fmt::format("busbw falls from {:.1f} GB/s at {} to {:.1f} at {}: {} gives way under load",
                  best->busbw_gbps, format_bytes(best->bytes), last.busbw_gbps, format_bytes(last.bytes),
                  table.hosts > 1 ? "the network between nodes" : "a link");
  finding.evidence = fmt::format("{}:{}", short_name(table.file), last.line);
  finding.fix =
      table.hosts > 1
          ? "what switches and cards drop or pause under load: ethtool -S, perfquery, PFC and ECN of RoCE on "
            "every port; NCCL_DEBUG=INFO tells whether cards read the GPUs' memory (GDRDMA)"
          : "nvidia-smi -q -d PCIE,PERFORMANCE while it runs; run it again with NCCL_DEBUG=INFO and give the "
            "log to gradwire doctor";
  findings.push_back(std::move(finding));
}

// nccl-tests checks what comes out: gradients that are joined this way are wrong too, and nothing says so.
void check_values(const NcclTestTable& table, std::vector<Finding>& findings) {
  if (table.wrong_line == 0) return;
  Finding finding;
  finding.rule = "R12";
  finding.severity = Severity::high;
  finding.what =
      "collectives come out with wrong values: what GPUs read of each other is not what was written";
  finding.evidence = line_of_file(table.file, table.wrong_line, table.wrong_words);
  finding.fix =
      "NCCL_P2P_DISABLE=1 tells: if values are right then, turn ACS and IOMMU off in the BIOS (lspci -vv: "
      "ACSCtl), update the driver and NCCL; a patched driver may grant what the board does not carry";
  findings.push_back(std::move(finding));
}

// The same of what the run itself did, where the largest of its calls is matched over ranks: waiting is no rate.
void check_recorded_rates(const RecordedCalls& calls, std::vector<Finding>& findings) {
  const RecordedRow* largest = nullptr;
  for (const RecordedRow& row : calls.rows)
    if (row.row.matched && row.row.expected_busbw_gbps && row.row.bytes >= kTellsARate &&
        (largest == nullptr || row.row.bytes > largest->row.bytes))
      largest = &row;
  if (largest == nullptr || largest->row.busbw_gbps > *largest->row.expected_busbw_gbps * 0.5) return;
  Finding finding;
  finding.rule = "R11";
  finding.slow = true;
  finding.what = fmt::format("{} of {} runs at a busbw of {:.1f} GB/s; this machine should give {:.0f}",
                             largest->row.collective.word, format_bytes(largest->row.bytes),
                             largest->row.busbw_gbps, *largest->row.expected_busbw_gbps);
  finding.evidence = fmt::format("NCCL's record of {} calls ({})", largest->row.count, largest->way);
  finding.fix = "run it again with NCCL_DEBUG=INFO and give the log to gradwire doctor";
  findings.push_back(std::move(finding));
}

}  // namespace

void add_sweep_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const NcclTestTable& table : given.files.tables) {
    check_values(table, diagnosis.findings);
    const std::size_t before = diagnosis.findings.size();
    check_rates(given, table, diagnosis.findings);
    if (diagnosis.findings.size() == before) check_collapse(table, diagnosis.findings);
  }
  for (const NcclTestTable& table : given.files.tables) {
    hint_at_lonely_ranks(table, diagnosis.hints);
    hint_at_partial_sweep(table, diagnosis.hints);
  }
  if (given.nccl_calls) check_recorded_rates(*given.nccl_calls, diagnosis.findings);
}

}  // namespace gradwire
