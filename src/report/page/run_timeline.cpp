#include "report/page/run_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "report/page/rank_pieces.h"
#include "report/page/topology.h"

namespace gradwire {
namespace {

constexpr Nanoseconds kOtherClock =
    10'000'000;  // ranks that collectives put further apart have clocks of their own

constexpr Nanoseconds kWidestGap = 1'000'000;  // between kernels that are drawn as one

// A collective ends on all ranks at once: how far the clock of one rank is behind that of another.
Nanoseconds clock_shift(const std::vector<Nanoseconds>& of_first, const std::vector<Nanoseconds>& of_other) {
  if (of_first.empty() || of_first.size() != of_other.size()) return 0;
  std::vector<Nanoseconds> apart;
  for (std::size_t i = 0; i < of_first.size(); ++i) apart.push_back(of_first[i] - of_other[i]);
  const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
  std::nth_element(apart.begin(), middle, apart.end());
  return std::abs(*middle) > kOtherClock ? *middle : 0;
}

std::vector<DrawnPiece> joined(const std::vector<DrawnPiece>& pieces, Nanoseconds gap, int several) {
  std::vector<DrawnPiece> result;
  for (const DrawnPiece& piece : pieces) {
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
void leave_out_steps(std::vector<DrawnPiece>& pieces, std::size_t most) {
  std::map<int, std::size_t> of_step;
  for (const DrawnPiece& piece : pieces) ++of_step[piece.step];
  std::size_t sum = 0;
  for (const auto& [step, count] : of_step) {
    if ((sum += count) <= most) continue;
    const int end = step;
    std::erase_if(pieces, [&](const DrawnPiece& piece) { return piece.step >= end; });
    return;
  }
}

class RunPicture {
 public:
  void add(const Profile& profile, int rank) {
    auto [pieces, ends] = rank_pieces(profile, rank, drawn_.lanes, names_);
    if (pieces_.empty()) first_ends_ = ends;
    const Nanoseconds shift = clock_shift(first_ends_, ends);
    if (shift != 0)
      notes_.push_back(
          fmt::format("The clock of rank {} is drawn {} apart from its own: its collectives say so.", rank,
                      format_seconds(std::abs(static_cast<double>(shift)) * 1e-9)));
    for (DrawnPiece& piece : pieces) {
      piece.begin += shift;
      piece.end += shift;
      pieces_.push_back(piece);
    }
  }

  RunTimelines finish(std::size_t most) {
    sort_lanes();
    std::ranges::stable_sort(pieces_, {},
                             [](const DrawnPiece& piece) { return std::pair(piece.lane, piece.begin); });
    make_fit(most);
    Nanoseconds zero = pieces_.empty() ? 0 : pieces_[0].begin;
    for (const DrawnPiece& piece : pieces_) zero = std::min(zero, piece.begin);
    drawn_.name = "the run";
    drawn_.kinds.assign(std::begin(kPieceKinds), std::end(kPieceKinds));
    drawn_.names = names_.all();
    for (const DrawnPiece& piece : pieces_)
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
      const auto& [rank, name, stream] = drawn_.lanes[lane];
      return std::tuple(rank, stream, name);
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
    for (DrawnPiece& piece : pieces_) piece.lane = place[static_cast<std::size_t>(piece.lane)];
  }

  int last_step() const {
    int last = -1;
    for (const DrawnPiece& piece : pieces_) last = std::max(last, piece.step);
    return last;
  }

  DrawnTimeline drawn_;
  NameList names_;
  std::vector<DrawnPiece> pieces_;
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

PageData run_page(const CaseFile& file, PageData page) {
  RunTimelines run = run_timelines(file.files.profiles, file.files.timelines);
  page.timelines = std::move(run.timelines);
  if (!run.notes.empty()) page.report.add(Gap{});
  for (std::string& note : run.notes) page.report.add(Sentence{std::move(note)});
  if (file.machine) page.topologies.push_back(drawn_topology(*file.machine, Loads::of_nccl));
  return page;
}

}  // namespace gradwire
