// What parts of a traced run cost a step outside of the trace.
#include <algorithm>

#include "explain/trace_words.h"

namespace gradwire {
namespace {

// Where computing has no core to itself it pays for what communication does under it: as long as its thread waited for
// the core.
Seconds paid_for_hidden(const CaseFile& given, int rank, Seconds hidden) {
  for (const WatchNotes& notes : given.files.notes)
    if (notes.rank == rank && notes.no_spare_core())
      return notes.waited_ms ? std::min(hidden, *notes.waited_ms * 1e-3) : hidden;
  return 0;
}

}  // namespace

double untraced_share(const CaseFile& given) {
  double sum = 0;
  int count = 0;
  for (const WatchNotes& notes : given.files.notes)
    if (notes.plain_ms() && notes.profiled_ms.value_or(0) > 0) {
      sum += std::min(1.0, *notes.plain_ms() / *notes.profiled_ms);
      ++count;
    }
  return count > 0 ? sum / count : 1;
}

Seconds communication_cost(const CaseFile& given) {
  Seconds sum = 0;
  for (const AnalyzedRank& rank : given.analysis->ranks) {
    const Breakdown parts = rank.summary.typical.value_or(rank.summary.mean.parts);
    sum += parts.comm_exposed + paid_for_hidden(given, rank.summary.rank, parts.comm_overlapped);
  }
  return sum / static_cast<double>(given.analysis->ranks.size()) * untraced_share(given);
}

const DdpSettings* find_settings(const CaseFile& given) {
  for (const WatchNotes& notes : given.files.notes)
    if (notes.ddp) return &*notes.ddp;
  return nullptr;
}

}  // namespace gradwire
