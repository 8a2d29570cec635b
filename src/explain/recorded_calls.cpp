#include "explain/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace gradwire {
namespace {

using RowKey = std::tuple<std::string, std::string, Bytes>;

// Communicators are told apart by NCCL's own number for them.
std::string group_name(const NcclCalls& calls) {
  return calls.name.empty() ? fmt::format("{:x}", calls.communicator)
                            : fmt::format("{} {:x}", calls.name, calls.communicator);
}

CollectiveSpan span_of_call(const NcclCalls& of, const NcclCall& call) {
  CollectiveSpan span;
  span.collective = call.collective;
  span.group = group_name(of);
  span.bytes = call.bytes;
  span.ranks = of.ranks;
  const bool counted = call.collective.kind != Collective::exchange;  // NCCL has no number for those
  span.sequence = counted ? static_cast<std::int64_t>(call.sequence & 0x7fffffffffffffff) : -1;
  span.end = call.time_ns.value_or(0);
  span.exposed = span.end;
  return span;
}

std::string way_of(const NcclCall& call) {
  if (call.algorithm.empty()) return {};
  return fmt::format("{} {} {}", call.algorithm, call.protocol, call.channels);
}

std::string most_frequent(const std::map<std::string, int>& counts) {
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::string() : most->first;
}

struct RecordedSpans {
  std::vector<std::vector<CollectiveSpan>> timed, untimed;  // one vector a rank of a communicator
  std::map<RowKey, std::map<std::string, int>> ways;
  int ranks = 0;  // of the communicator with most
};

// A file is one rank of one communicator.
RecordedSpans gather_spans(const std::vector<NcclCalls>& files) {
  RecordedSpans all;
  std::map<std::string, int> ranks_of;
  for (const NcclCalls& file : files) {
    auto& timed = all.timed.emplace_back();
    auto& untimed = all.untimed.emplace_back();
    for (const NcclCall& call : file.calls) {
      CollectiveSpan span = span_of_call(file, call);
      ++all.ways[{span.group, span.collective.word, span.bytes}][way_of(call)];
      (call.time_ns ? timed : untimed).push_back(std::move(span));
    }
    all.ranks = std::max(all.ranks, ++ranks_of[group_name(file)]);
  }
  return all;
}

void add_rows(RecordedCalls& recorded, const std::vector<std::vector<CollectiveSpan>>& spans, bool timed) {
  for (CollectiveRow& row : collective_rows(spans, 1)) recorded.rows.push_back({std::move(row), timed, {}});
}

void note_limits(const std::vector<NcclCalls>& files, RecordedCalls& all) {
  std::uint64_t dropped = 0;
  int world = 0;
  for (const NcclCalls& file : files) {
    dropped += file.dropped;
    world = std::max(world, file.ranks);
  }
  if (dropped > 0)
    all.notes.push_back(fmt::format("{} calls were not recorded: many were under way at once", dropped));
  if (std::any_of(all.rows.begin(), all.rows.end(), [](const auto& row) { return !row.timed; }))
    all.notes.emplace_back(
        "calls without a time: they had not ended, or NCCL is older than 2.26 and says only when one was "
        "enqueued");
  if (world > all.ranks)
    all.notes.push_back(fmt::format("calls of {} of {} ranks are here: waiting is counted among these alone",
                                    all.ranks, world));
}

}  // namespace

RecordedCalls recorded_calls(const std::vector<NcclCalls>& files, const Machine* machine) {
  RecordedSpans spans = gather_spans(files);
  match_collectives(spans.timed);
  RecordedCalls all;
  all.ranks = spans.ranks;
  add_rows(all, spans.timed, true);
  add_rows(all, spans.untimed, false);
  for (RecordedRow& row : all.rows) {
    row.way = most_frequent(spans.ways[{row.row.group, row.row.collective.word, row.row.bytes}]);
    if (machine == nullptr || !row.timed) continue;
    if (const auto expected =
            find_expected_rate(*machine, row.row.collective.kind, row.row.bytes, row.row.ranks))
      row.row.expected_busbw_gbps = expected->busbw_gbps;
  }
  note_limits(files, all);
  return all;
}

}  // namespace gradwire
