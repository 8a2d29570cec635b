#include "train/loop/gather_timeline.h"

#include <algorithm>
#include <cmath>

#include "train/loop/share_text.h"

namespace gradwire {
namespace {

void begin_at_zero(Timeline& timeline) {
  Seconds first = INFINITY;
  for (const Span& span : timeline.spans) {
    first = std::min(first, span.begin);
    if (span.kind == SpanKind::bucket) first = std::min(first, span.ready);
  }
  for (Span& span : timeline.spans) {
    span.begin -= first;
    span.end -= first;
    if (span.kind == SpanKind::bucket) span.ready -= first;
  }
}

}  // namespace

Timeline gather_timeline(Communicator& communicator, const Recorder& recorder, const ClockOffset& clock,
                         const std::string& source) {
  Timeline whole{source, communicator.size(), {}};
  // A part travels as the text a file would hold, so that there is one form to get right.
  for (Rank rank = 0; rank < communicator.size(); ++rank) {
    Timeline mine{source, communicator.size(), {}};
    if (rank == communicator.rank()) mine.spans = recorder.spans(rank, clock.offset);
    const auto text = share_text(communicator, rank == communicator.rank() ? timeline_json(mine) : "", rank);
    const auto part = parse_timeline(text, "rank " + std::to_string(rank));
    whole.spans.insert(whole.spans.end(), part.spans.begin(), part.spans.end());
  }
  begin_at_zero(whole);
  return whole;
}

}  // namespace gradwire
