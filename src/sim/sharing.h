// Who gets how much of shared pipes: max-min fair rates, which is what flows that adapt to each other settle
// at. No flow can be faster without making another one slower that is not faster already.
//
// Found by progressive filling: the pipe with the least to give to each of its flows is full first; its flows
// are settled at that rate, what they use is taken off their other pipes, and so on. What a pipe can give to
// each never falls on the way, so a heap whose entries are looked at again when they come up is enough.
//
// Keeps its state: after flows have come and gone, only those are worked out again that share a pipe with
// them, directly or through others. Flows on one way have one rate, so a way counts its flows.
#pragma once

#include <span>
#include <vector>

#include "sim/network.h"

namespace gradwire {

// Two numbers closer than this, relatively, differ by rounding alone.
inline constexpr double kSame = 1e-12;

class Sharing {
 public:
  // `efficiency` is the part of every pipe's rate that there is to share. The network must outlive this.
  explicit Sharing(const Network& network, double efficiency = 1);

  void begin(WayId way, int flows = 1);  // the way must have pipes
  void end(WayId way, int flows = 1);

  // Rates as of now. Gives the ways whose flows go at another rate than before, until the next call.
  std::span<const WayId> settle();
  double rate(WayId way) const { return rates_[way]; }  // of each flow, as last settled, in bytes/s

 private:
  struct State {
    double capacity = 0, left = 0;
    std::int64_t flows = 0, open = 0;  // crossings by flows, and by those not settled yet
    std::uint32_t seen = 0;
    bool touched = false;
    std::vector<std::int32_t> users;  // hops of ways that have flows
  };
  struct Offer {
    double each;
    PipeId pipe;
    bool operator<(const Offer& other) const { return each > other.each; }  // the least first
  };

  void touch(PipeId pipe);
  void join(WayId way);
  void leave(WayId way);
  void collect(PipeId first);
  void fill();
  void settle_users(PipeId pipe, double rate);
  void set_rate(WayId way, double rate);

  const Network& network_;
  std::vector<State> pipes_;
  std::vector<std::int32_t> place_;  // by hop: where it stands among its pipe's users
  std::vector<WayId> way_of_hop_;
  std::vector<std::int32_t> flows_;            // by way
  std::vector<double> rates_;                  // by way
  std::vector<std::uint32_t> seen_, settled_;  // by way: in which round
  std::uint32_t round_ = 0;

  std::vector<PipeId> touched_, reached_;  // pipes with changes; those of the component at hand
  std::vector<WayId> members_, changed_;
  std::vector<Offer> offers_;  // a heap
};

// Of flows that are all there at once: the rate of each, in bytes/s; infinite for one that crosses nothing. Flows that cross the same pipes, in
// whatever order, are counted instead of looked at one by one.
std::vector<double> fair_share(std::span<const double> bytes_per_s,
                               std::span<const std::vector<PipeId>> routes);

}  // namespace gradwire
