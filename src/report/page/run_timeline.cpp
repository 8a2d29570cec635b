#include "report/page/run_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "explain/collectives.h"
#include "explain/landmarks.h"

namespace gradwire {
namespace {

constexpr std::size_t kLongestName = 120, kMostNames = 2000;
constexpr Nanoseconds kOtherClock =
    10'000'000;  // ranks that collectives put further apart have clocks of their own

constexpr Nanoseconds kWidestGap = 1'000'000;  // between kernels that are drawn as one

enum class PieceKind { data, forward, backward, optimizer, other, communication, copies };
constexpr const char* kPieceKinds[] = {"data",  "forward",       "backward", "optimizer",
                                       "other", "communication", "copies"};

struct Piece {
  int lane = 0;
  PieceKind kind = PieceKind::other;
  int step = 0, name = 0;
  Nanoseconds begin = 0, end = 0;
  double bytes = -1;
};

// Names of kernels are as long as their templates are deep.
class NameList {
 public:
  int add(std::string_view name) {
    const auto [found, is_new] = index_.emplace(std::string(name.substr(0, kLongestName)), names_.size());
    if (is_new && names_.size() == kMostNames) {
      index_.erase(found);
      return add("one of many others");
    }
    if (is_new) names_.push_back(found->first);
    return static_cast<int>(found->second);
  }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> names_;
};

// The pieces of one rank, on its own clock.
class RankPieces {
 public:
  RankPieces(const Profile& profile, int rank, std::vector<DrawnTimeline::Lane>& lanes, NameList& names)
      : profile_(profile),
        rank_(rank),
        lanes_(lanes),
        names_(names),
        steps_(rank_steps(profile)),
        marks_(find_landmarks(profile)),
        work_(steps_.on_gpu ? place_gpu_work(profile, marks_) : place_host_work(profile, marks_)) {}

  std::vector<Piece> take() {
    steps_.on_gpu ? add_streams() : add_phases();
    return std::move(pieces_);
  }

  // When the collectives of this rank ended, in their order.
  std::vector<Nanoseconds> ends() const {
    std::vector<Nanoseconds> all;
    for (const CollectiveSpan& span : collective_spans(profile_, steps_)) all.push_back(span.end);
    return all;
  }

 private:
  int lane(const std::string& name) {
    const DrawnTimeline::Lane wanted{rank_, name};
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
      Piece piece{lane(fmt::format("stream {}", stream)),
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
  std::vector<Piece> pieces_;
};

// A collective ends on all ranks at once: how far the clock of one rank is behind that of another.
Nanoseconds clock_shift(const std::vector<Nanoseconds>& of_first, const std::vector<Nanoseconds>& of_other) {
  if (of_first.empty() || of_first.size() != of_other.size()) return 0;
  std::vector<Nanoseconds> apart;
  for (std::size_t i = 0; i < of_first.size(); ++i) apart.push_back(of_first[i] - of_other[i]);
  const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
  std::nth_element(apart.begin(), middle, apart.end());
  return std::abs(*middle) > kOtherClock ? *middle : 0;
}

std::vector<Piece> joined(const std::vector<Piece>& pieces, Nanoseconds gap, int several) {
  std::vector<Piece> result;
  for (const Piece& piece : pieces) {
    const bool joins = !result.empty() && piece.kind != PieceKind::communication &&
                       result.back().lane == piece.lane && result.back().kind == piece.kind &&
                       result.back().step == piece.step && piece.begin - result.back().end <= gap;
    if (!joins) {
      result.push_back(piece);
      continue;
    }
    if (result.back().name != piece.name) result.back().name = several;
    result.back().end = std::max(result.back().end, piece.end);
  }
  return result;
}

// Whole steps from the first on.
void leave_out_steps(std::vector<Piece>& pieces, std::size_t most) {
  std::map<int, std::size_t> of_step;
  for (const Piece& piece : pieces) ++of_step[piece.step];
  std::size_t sum = 0;
  for (const auto& [step, count] : of_step) {
    if ((sum += count) <= most) continue;
    const int end = step;
    std::erase_if(pieces, [&](const Piece& piece) { return piece.step >= end; });
    return;
  }
}

class RunPicture {
 public:
  void add(const Profile& profile, int rank) {
    RankPieces one(profile, rank, drawn_.lanes, names_);
    auto pieces = one.take();
    const auto ends = one.ends();
    if (pieces_.empty()) first_ends_ = ends;
    const Nanoseconds shift = clock_shift(first_ends_, ends);
    if (shift != 0)
      notes_.push_back(
          fmt::format("The clock of rank {} is drawn {} apart from its own: its collectives say so.", rank,
                      format_seconds(std::abs(static_cast<double>(shift)) * 1e-9)));
    for (Piece& piece : pieces) {
      piece.begin += shift;
      piece.end += shift;
      pieces_.push_back(piece);
    }
  }

  RunTimelines finish(std::size_t most) {
    sort_lanes();
    std::ranges::stable_sort(pieces_, {},
                             [](const Piece& piece) { return std::pair(piece.lane, piece.begin); });
    make_fit(most);
    Nanoseconds zero = pieces_.empty() ? 0 : pieces_[0].begin;
    for (const Piece& piece : pieces_) zero = std::min(zero, piece.begin);
    drawn_.name = "the run";
    drawn_.kinds.assign(std::begin(kPieceKinds), std::end(kPieceKinds));
    drawn_.names = names_.all();
    for (const Piece& piece : pieces_)
      drawn_.spans.push_back({piece.lane, static_cast<int>(piece.kind), piece.name, piece.step,
                              static_cast<double>(piece.begin - zero),
                              static_cast<double>(std::max<Nanoseconds>(0, piece.end - piece.begin)),
                              piece.bytes, -1});
    return {{std::move(drawn_)}, std::move(notes_)};
  }

 private:
  void make_fit(std::size_t most) {
    if (pieces_.size() <= most) return;
    const std::size_t all = pieces_.size();
    const int several = names_.add("several kernels");
    Nanoseconds gap = 1000;
    auto fewer = joined(pieces_, gap, several);
    while (fewer.size() > most && gap < kWidestGap) fewer = joined(pieces_, gap *= 2, several);
    pieces_ = std::move(fewer);
    notes_.push_back(fmt::format("The timeline draws kernels less than {} apart as one: there are {} spans.",
                                 format_seconds(static_cast<double>(gap) * 1e-9), all));
    if (pieces_.size() <= most) return;
    const int steps = last_step();
    leave_out_steps(pieces_, most);
    notes_.push_back(fmt::format("It shows the first {} of {} steps.", last_step() + 1, steps + 1));
  }

  // By rank; streams by their number, what has none before them.
  void sort_lanes() {
    const auto key = [&](std::size_t lane) {
      const std::string& name = drawn_.lanes[lane].name;
      const bool stream = name.starts_with("stream ");
      return std::tuple(drawn_.lanes[lane].rank, stream ? std::atoll(name.c_str() + 7) : -1, name);
    };
    std::vector<std::size_t> order(drawn_.lanes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, key);
    std::vector<int> place(order.size());
    std::vector<DrawnTimeline::Lane> lanes;
    for (const std::size_t lane : order) {
      place[lane] = static_cast<int>(lanes.size());
      lanes.push_back(drawn_.lanes[lane]);
    }
    drawn_.lanes = std::move(lanes);
    for (Piece& piece : pieces_) piece.lane = place[static_cast<std::size_t>(piece.lane)];
  }

  int last_step() const {
    int last = -1;
    for (const Piece& piece : pieces_) last = std::max(last, piece.step);
    return last;
  }

  DrawnTimeline drawn_;
  NameList names_;
  std::vector<Piece> pieces_;
  std::vector<Nanoseconds> first_ends_;
  std::vector<std::string> notes_;
};

}  // namespace

RunTimelines run_timelines(const std::vector<Profile>& profiles, const std::vector<NamedTimeline>& timelines,
                           std::size_t most) {
  RunTimelines result;
  if (!profiles.empty()) {
    RunPicture picture;
    for (std::size_t i = 0; i < profiles.size(); ++i)
      picture.add(profiles[i], profiles[i].rank.value_or(static_cast<int>(i)));
    result = picture.finish(most);
    result.timelines[0].world = profiles[0].world.value_or(static_cast<int>(profiles.size()));
  }
  for (const NamedTimeline& one : timelines) {
    auto fitted = drawn_timeline(one.timeline, one.file, Origin::measured, most / timelines.size());
    result.timelines.push_back(std::move(fitted.timeline));
    if (!fitted.note.empty()) result.notes.push_back(std::move(fitted.note));
  }
  return result;
}

}  // namespace gradwire
