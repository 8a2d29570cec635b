#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "sched/algorithms.h"

namespace gradwire {
namespace {

// Where a rank stands. Rail i of a host is its i-th rank.
struct Place {
  std::vector<Rank> rails;   // of my host
  std::vector<Rank> others;  // on my host, all but me
  std::vector<Rank> circle;  // my rail on every host, if I am on one
  int hosts = 0;
  int index = 0;  // mine among the ranks of my host: that of my rail, if there are so many
  int stop = 0;   // mine in `circle`

  bool on_rail() const { return index < static_cast<int>(rails.size()); }
};

Place place_of(Rank me, std::span<const int> hosts) {
  std::map<int, std::vector<Rank>> ranks;
  for (Rank rank = 0; rank < static_cast<Rank>(hosts.size()); ++rank) ranks[hosts[rank]].push_back(rank);
  std::size_t rails = hosts.size();
  for (const auto& [host, members] : ranks) rails = std::min(rails, members.size());

  const auto mine = ranks.find(hosts[me]);
  const std::vector<Rank>& members = mine->second;
  Place place;
  place.rails.assign(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(rails));
  place.others = members;
  std::erase(place.others, me);
  place.hosts = static_cast<int>(ranks.size());
  place.index = static_cast<int>(std::ranges::find(members, me) - members.begin());
  place.stop = static_cast<int>(std::distance(ranks.begin(), mine));
  if (place.on_rail())
    for (const auto& [host, those] : ranks) place.circle.push_back(those[place.index]);
  return place;
}

class Builder {
 public:
  Builder(Rank me, std::span<const int> hosts, int cut)
      : place_(place_of(me, hosts)), slots_(static_cast<int>(place_.others.size()) * place_.hosts) {
    const int rails = static_cast<int>(place_.rails.size());
    part_.rank = me;
    part_.shape = {{cut * rails * place_.hosts, 0, in_flight(cut) * (slots_ + 1)}};
    // Messages keep their order, and the next block should not wait to be collected behind a result that is
    // still going round: so results are handed out one block late.
    int late = 0;
    for_each_block(cut, [&](int first, int count) {
      for (int k = 0; k < count; ++k) collect(first + k, k * slots_);
      cross(first, count, in_flight(cut) * slots_);
      for (; late < first; ++late) hand_out(late);
    });
    for (; late < cut; ++late) hand_out(late);
  }

  Part take() { return std::move(part_); }

 private:
  // A rail's part of a piece has a chunk for each host, since it will go round a circle of hosts.
  int chunk(int piece, int rail) const {
    return (piece * static_cast<int>(place_.rails.size()) + rail) * place_.hosts;
  }
  Slice of_rail(int piece, int rail) const { return out(chunk(piece, rail), place_.hosts); }
  void add(const Step& step) { part_.program.push_back(step); }

  template <typename F>
  void for_each_other_rail(F visit) const {
    for (int rail = 0; rail < static_cast<int>(place_.rails.size()); ++rail)
      if (rail != place_.index) visit(place_.rails[rail], rail);
  }

  void collect(int piece, int slot) {
    for_each_other_rail([&](Rank rank, int rail) { add(Step::send(rank, of_rail(piece, rail))); });
    if (!place_.on_rail()) return;
    for (const Rank rank : place_.others) {
      const Slice arriving = scratch(slot, chunk(piece, place_.index), place_.hosts);
      const bool last = place_.hosts == 1 && rank == place_.others.back();
      add(Step::recv(rank, arriving));
      add(Step::reduce(of_rail(piece, place_.index), arriving, last));
      slot += place_.hosts;
    }
  }

  void cross(int first, int count, int slot) {
    if (!place_.on_rail()) return;
    const int stride = chunk(1, 0);
    append_ring_all_reduce(part_.program, {place_.circle, place_.stop},
                           {chunk(first, place_.index), stride, count, slot});
  }

  void hand_out(int piece) {
    if (place_.on_rail())
      for (const Rank rank : place_.others) add(Step::send(rank, of_rail(piece, place_.index)));
    for_each_other_rail([&](Rank rank, int rail) { add(Step::recv(rank, of_rail(piece, rail))); });
  }

  const Place place_;
  const int slots_;  // places in scratch for what one piece collects
  Part part_;
};

}  // namespace

Part hierarchical_all_reduce(Rank me, std::span<const int> hosts, int cut) {
  return Builder(me, hosts, cut).take();
}

}  // namespace gradwire
