#include "report/page/rank_pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "explain/collectives.h"
#include "explain/landmarks.h"

namespace gradwire {
namespace {

constexpr std::size_t kLongestName = 120, kMostNames = 2000;

class PieceMaker {
 public:
  PieceMaker(const Profile& profile, int rank, std::vector<DrawnTimeline::Lane>& lanes, NameList& names)
      : profile_(profile),
        rank_(rank),
        lanes_(lanes),
        names_(names),
        steps_(rank_steps(profile)),
        marks_(find_landmarks(profile)),
        work_(steps_.on_gpu ? place_gpu_work(profile, marks_) : place_host_work(profile, marks_)) {}

  RankPieces make() {
    steps_.on_gpu ? add_streams() : add_phases();
    RankPieces made{std::move(pieces_), {}};
    for (const CollectiveSpan& span : collective_spans(profile_, steps_)) made.ends.push_back(span.end);
    return made;
  }

 private:
  int lane(const std::string& name, std::int64_t stream = -1) {
    const DrawnTimeline::Lane wanted{rank_, name, stream};
    const auto found = std::find(lanes_.begin(), lanes_.end(), wanted);
    if (found != lanes_.end()) return static_cast<int>(found - lanes_.begin());
    lanes_.push_back(wanted);
    return static_cast<int>(lanes_.size() - 1);
  }

  // The one it began in; what lies before the first belongs to that.
  int step_at(Nanoseconds moment) const {
    const auto after =
        std::upper_bound(steps_.steps.begin(), steps_.steps.end(), moment,
                         [](Nanoseconds at, const RankStep& step) { return at < step.window.begin; });
    return after == steps_.steps.begin() ? 0 : static_cast<int>(after - steps_.steps.begin()) - 1;
  }

  PieceKind kind_of(const Activity& activity) const {
    if (activity.kind == ActivityKind::communication) return PieceKind::communication;
    if (activity.kind == ActivityKind::copy) return PieceKind::copies;
    if (contains(work_.optimizer, activity.begin)) return PieceKind::optimizer;
    if (contains(work_.backward, activity.begin)) return PieceKind::backward;
    if (contains(work_.forward, activity.begin)) return PieceKind::forward;
    return PieceKind::other;
  }

  void add_streams() {
    for (const Activity& activity : profile_.activities) {
      if (!on_gpu(activity.kind)) continue;
      const auto stream = profile_.lanes[static_cast<std::size_t>(activity.lane)].thread;
      DrawnPiece piece{lane(fmt::format("stream {}", stream), stream),
                       kind_of(activity),
                       step_at(activity.begin),
                       0,
                       activity.begin,
                       activity.end};
      std::string_view name = profile_.name_of(activity);
      if (activity.call >= 0) {
        const ProfiledCall& call = profile_.calls[static_cast<std::size_t>(activity.call)];
        if (!call.collective.word.empty()) name = call.collective.word;
        if (call.bytes > 0) piece.bytes = static_cast<double>(call.bytes);
      }
      piece.name = names_.add(name);
      pieces_.push_back(piece);
    }
    add_set(PieceKind::data, marks_.input, "waiting for input");
  }

  void add_set(PieceKind kind, const Intervals& set, const char* lane_name) {
    for (const Interval& one : set)
      pieces_.push_back({lane(lane_name), kind, step_at(one.begin),
                         names_.add(kPieceKinds[static_cast<std::size_t>(kind)]), one.begin, one.end});
  }

  void add_phases() {
    add_set(PieceKind::data, without(marks_.input, united(steps_.computing, work_.communication)), "compute");
    add_set(PieceKind::forward, work_.forward, "compute");
    add_set(PieceKind::backward, work_.backward, "compute");
    add_set(PieceKind::optimizer, work_.optimizer, "compute");
    add_set(PieceKind::other, work_.other, "compute");
    for (const CollectiveSpan& span : collective_spans(profile_, steps_))
      pieces_.push_back({lane("communication"), PieceKind::communication, span.step,
                         names_.add(span.collective.word), span.begin, span.end,
                         span.bytes > 0 ? static_cast<double>(span.bytes) : -1});
  }

  const Profile& profile_;
  const int rank_;
  std::vector<DrawnTimeline::Lane>& lanes_;
  NameList& names_;
  const RankSteps steps_;
  const Landmarks marks_;
  const PlacedWork work_;
  std::vector<DrawnPiece> pieces_;
};

}  // namespace

int NameList::add(std::string_view name) {
  const auto [found, is_new] = index_.emplace(std::string(name.substr(0, kLongestName)), names_.size());
  if (is_new && names_.size() == kMostNames) {
    index_.erase(found);
    return add("one of many others");
  }
  if (is_new) names_.push_back(found->first);
  return static_cast<int>(found->second);
}

RankPieces rank_pieces(const Profile& profile, int rank, std::vector<DrawnTimeline::Lane>& lanes,
                       NameList& names) {
  return PieceMaker(profile, rank, lanes, names).make();
}

}  // namespace gradwire
