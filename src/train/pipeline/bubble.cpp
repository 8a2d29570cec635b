#include "train/pipeline/bubble.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.h"

namespace gradwire {
namespace {

bool is_work(const Span& span) {
  return span.part.is_told() && (span.kind == SpanKind::forward || span.kind == SpanKind::backward);
}

// When each piece of work ends, in slots.
class SlotBook {
 public:
  explicit SlotBook(const PipelineShape& shape) : chunks_(shape.chunks()) {}

  // When it may begin, if everything before it has been done.
  std::optional<int> ready(const StageWork& work) const {
    int at = 0;
    for (const auto& [forward, chunk] : needs(work)) {
      const auto found = ends_.find({forward, chunk, work.micro_batch});
      if (found == ends_.end()) return std::nullopt;
      at = std::max(at, found->second);
    }
    return at;
  }
  void note(const StageWork& work, int end) { ends_[{work.forward, work.chunk, work.micro_batch}] = end; }

 private:
  std::vector<std::pair<bool, int>> needs(const StageWork& work) const {
    if (work.forward)
      return work.chunk > 0 ? std::vector<std::pair<bool, int>>{{true, work.chunk - 1}}
                            : std::vector<std::pair<bool, int>>{};
    std::vector<std::pair<bool, int>> all{{true, work.chunk}};
    if (work.chunk + 1 < chunks_) all.push_back({false, work.chunk + 1});
    return all;
  }

  const int chunks_;
  std::map<std::tuple<bool, int, int>, int> ends_;
};

}  // namespace

std::vector<std::vector<StageWork>> executed_order(const Timeline& timeline, const Mesh& mesh, int step) {
  std::vector<std::vector<std::pair<Seconds, StageWork>>> found(static_cast<std::size_t>(mesh.pp));
  for (const Span& span : timeline.spans) {
    if (span.step != step || span.rank >= mesh.ranks() || !is_work(span)) continue;
    const MeshPlace place = place_of(mesh, span.rank);
    if (place.data != 0 || place.tensor != 0) continue;
    const StageWork work{span.kind == SpanKind::forward, span.part.chunk, span.part.micro_batch};
    found[static_cast<std::size_t>(place.pipeline)].push_back({span.begin, work});
  }
  std::vector<std::vector<StageWork>> order;
  for (auto& stage : found) {
    std::sort(stage.begin(), stage.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    order.emplace_back();
    for (const auto& [begin, work] : stage) order.back().push_back(work);
  }
  return order;
}

double idle_share(const PipelineShape& shape, const std::vector<std::vector<StageWork>>& order) {
  SlotBook book(shape);
  std::vector<std::size_t> next(order.size(), 0);
  std::vector<int> free(order.size(), 0);
  std::size_t worked = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < order.size(); ++stage)
      while (next[stage] < order[stage].size()) {
        const StageWork& work = order[stage][next[stage]];
        const auto ready = book.ready(work);
        if (!ready) break;
        free[stage] = std::max(free[stage], *ready) + 1;
        book.note(work, free[stage]);
        ++next[stage], ++worked;
        moved = true;
      }
  }
  for (std::size_t stage = 0; stage < order.size(); ++stage)
    if (next[stage] < order[stage].size())
      throw Error(fmt::format("stage {} waits for ever for its piece of work {}", stage, next[stage]));
  const double slots =
      static_cast<double>(*std::max_element(free.begin(), free.end())) * static_cast<double>(order.size());
  return slots > 0 ? 1 - static_cast<double>(worked) / slots : 0;
}

}  // namespace gradwire
