// A fabric on which chunks hold, instead of numbers, the set of ranks whose data they contain. verify() runs
// programs on it. Messages are a rendezvous, in order for each pair: a send ends when its recv has taken it,
// which is the hardest rule a real transport may have.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sched/run.h"

namespace gradwire {

class RankSet {
 public:
  void add(Rank rank);
  void add(const RankSet& other);
  bool contains(Rank rank) const;
  std::vector<Rank> common_with(const RankSet& other) const;
  std::vector<Rank> missing_of(int world) const;
  bool operator==(const RankSet&) const = default;

 private:
  std::vector<std::uint64_t> words_;  // the last one is never 0, so equal sets are equal vectors
};

// What a chunk holds: the sum over `ranks` of their input's chunk `chunk`. `recipe` tells apart the orders in
// which it was added up: the same recipe gives the same bits.
struct Content {
  static constexpr int kNothing = -1;
  int chunk = kNothing;
  RankSet ranks;
  std::uint64_t recipe = 0;
  Slice place;  // as it was written, for those in scratch
};

class SetFabric final : public Fabric {
 public:
  SetFabric(Collective kind, std::span<const Part> parts, Rank root);
  void start(StepId id, const Step& step) override;
  Event next() override;  // throws Error: "wrong chunk: ...", "stuck: ..."
  const Content& content(Rank rank, Buffer buffer, int chunk) const;

 private:
  struct Message {
    StepId id;
    const Step* step;
  };
  using Way = std::pair<Rank, Rank>;  // from, to
  struct Queue {
    std::deque<Message> sends, recvs;
  };

  std::span<Content> contents(Rank rank, const Slice& slice);
  std::vector<Content> read(StepId id, const Step& step);
  void write(StepId id, const Step& step, std::vector<Content> values);
  void reduce(StepId id, const Step& step);
  void meet(Queue& queue);
  [[noreturn]] void throw_stuck() const;

  const Collective kind_;
  const int world_;
  std::vector<std::vector<Content>> chunks_[kBuffers];  // by buffer and rank
  std::map<Way, Queue> queues_;
  std::deque<StepId> done_;
};

// "rank 2, step 7 (send out chunk 3 to rank 1)", for messages about a step.
std::string describe(StepId id, const Step& step);
std::string describe(const Slice& slice);  // "out chunks 3..5"

}  // namespace gradwire
