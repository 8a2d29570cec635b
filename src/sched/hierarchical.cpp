#include "sched/hierarchical.h"

#include <algorithm>
#include <map>
#include <vector>

#include "sched/pieces.h"
#include "sched/ring.h"

namespace gradwire {
namespace {

// Where a rank stands: who shares its host, how many rails there are, and who is on its own.
struct Place {
  std::vector<Rank> host;  // ranks of my host, the rails first
  std::vector<Rank> rail;  // the ranks on my rail, one for each host
  int rails = 0, hosts = 0;
  int index = 0;  // mine in `host`
  int stop = 0;   // mine in `rail`

  bool on_rail() const { return index < rails; }
};

Place place_of(Rank me, std::span<const int> hosts) {
  std::map<int, std::vector<Rank>> ranks;
  for (Rank rank = 0; rank < static_cast<Rank>(hosts.size()); ++rank) ranks[hosts[rank]].push_back(rank);
  Place place;
  place.host = ranks[hosts[me]];
  place.hosts = static_cast<int>(ranks.size());
  place.rails = static_cast<int>(place.host.size());
  place.index = static_cast<int>(std::ranges::find(place.host, me) - place.host.begin());
  place.stop = static_cast<int>(std::distance(ranks.begin(), ranks.find(hosts[me])));
  for (const auto& [host, members] : ranks)
    place.rails = std::min(place.rails, static_cast<int>(members.size()));
  if (place.on_rail())
    for (const auto& [host, members] : ranks) place.rail.push_back(members[place.index]);
  return place;
}

class Builder {
 public:
  Builder(Rank me, std::span<const int> hosts, int cut) : me_(me), place_(place_of(me, hosts)) {
    const int others = static_cast<int>(place_.host.size()) - 1;
    ring_slots_ = in_flight(cut) * others * place_.hosts;
    part_.rank = me;
    part_.shape = {{cut * place_.rails * place_.hosts, 0, ring_slots_ + in_flight(cut)}};
    // A piece goes back to the hosts' other ranks only after the next block has been collected, because
    // messages keep their order and what is ready should not wait behind what is still on the ring.
    int previous = 0, previous_count = 0;
    for_each_block(cut, [&](int first, int count) {
      for (int k = 0; k < count; ++k) collect(first + k, k * others * place_.hosts);
      cross(first, count);
      for (int k = 0; k < previous_count; ++k) hand_out(previous + k);
      previous = first, previous_count = count;
    });
    for (int k = 0; k < previous_count; ++k) hand_out(previous + k);
  }

  Part take() { return std::move(part_); }

 private:
  // A rail's part of a piece: a chunk for each host, since it will go round a ring of hosts.
  int chunk(int piece, int rail) const { return (piece * place_.rails + rail) * place_.hosts; }
  Slice of_rail(int piece, int rail) const { return out(chunk(piece, rail), place_.hosts); }

  void collect(int piece, int slot) {
    for (int rail = 0; rail < place_.rails; ++rail)
      if (rail != place_.index) add(Step::send(place_.host[rail], of_rail(piece, rail)));
    if (!place_.on_rail()) return;
    const Rank last =
        me_ == place_.host.back() && place_.host.size() > 1 ? place_.host.end()[-2] : place_.host.back();
    for (const Rank rank : place_.host) {
      if (rank == me_) continue;
      const Slice arriving = scratch(slot, chunk(piece, place_.index), place_.hosts);
      add(Step::recv(rank, arriving));
      add(Step::reduce(of_rail(piece, place_.index), arriving, place_.hosts == 1 && rank == last));
      slot += place_.hosts;
    }
  }

  void cross(int first, int count) {
    if (!place_.on_rail()) return;
    append_ring_all_reduce(part_.program, {place_.rail, place_.stop},
                           {chunk(first, place_.index), place_.rails * place_.hosts, count, ring_slots_});
  }

  void hand_out(int piece) {
    if (place_.on_rail())
      for (const Rank rank : place_.host)
        if (rank != me_) add(Step::send(rank, of_rail(piece, place_.index)));
    for (int rail = 0; rail < place_.rails; ++rail)
      if (rail != place_.index) add(Step::recv(place_.host[rail], of_rail(piece, rail)));
  }

  void add(const Step& step) { part_.program.push_back(step); }

  const Rank me_;
  const Place place_;
  int ring_slots_ = 0;
  Part part_;
};

}  // namespace

Part hierarchical_all_reduce(Rank me, std::span<const int> hosts, int cut) {
  return Builder(me, hosts, cut).take();
}

}  // namespace gradwire
