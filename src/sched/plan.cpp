#include "sched/run.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

// Walks a program once and remembers for every chunk who wrote it last and who has read it since: a reader
// waits for that writer, a writer for those readers (or, if there are none, for the writer before it).
class Analysis {
 public:
  explicit Analysis(const Part& part) : part_(part), seen_(part.program.size(), -1) {
    std::int32_t chunks = 0;
    for (int buffer = 0; buffer < kBuffers; ++buffer) {
      first_chunk_[buffer] = chunks;
      chunks += part.shape.chunks[buffer];
    }
    chunks_.resize(static_cast<std::size_t>(chunks));
    edges_.reserve(part.program.size() * 2);
    readers_.reserve(part.program.size());
  }

  void add(std::int32_t step) {
    const Step& s = part_.program[step];
    for_each_chunk(s.src, [&](Chunk& chunk) { read(chunk, step); });
    for_each_chunk(s.dst, [&](Chunk& chunk) { write(chunk, step); });
  }

  // Sorts the edges by where they start, which keeps them in program order of where they end.
  void put_into(Plan& plan) const {
    for (const Edge& edge : edges_) ++plan.links[edge.from + 1].first;
    for (std::size_t i = 1; i < plan.links.size(); ++i) plan.links[i].first += plan.links[i - 1].first;
    plan.next.resize(edges_.size());
    std::vector<std::int32_t> place(plan.links.size());
    for (std::size_t i = 0; i < place.size(); ++i) place[i] = plan.links[i].first;
    for (const Edge& edge : edges_) {
      plan.next[place[edge.from]++] = edge.to;
      ++plan.waits[edge.to];
    }
  }

 private:
  struct Edge {
    std::int32_t from, to;
  };
  struct Chunk {
    std::int32_t writer = -1;
    std::int32_t readers = -1;  // head of a list in readers_
  };
  struct Reader {
    std::int32_t step, next;
  };

  template <typename F>
  void for_each_chunk(const Slice& slice, F visit) {
    check(slice.count == 0 ||
              (slice.first >= 0 && slice.first + slice.count <= part_.shape.chunks[slice.buffer]),
          "a step names a chunk its program does not have");
    for (std::int32_t i = 0; i < slice.count; ++i)
      visit(chunks_[first_chunk_[slice.buffer] + slice.first + i]);
  }

  void read(Chunk& chunk, std::int32_t step) {
    wait(chunk.writer, step);
    readers_.push_back({step, chunk.readers});
    chunk.readers = static_cast<std::int32_t>(readers_.size()) - 1;
  }

  void write(Chunk& chunk, std::int32_t step) {
    if (chunk.readers < 0) wait(chunk.writer, step);
    for (std::int32_t r = chunk.readers; r >= 0; r = readers_[r].next) wait(readers_[r].step, step);
    chunk = {step, -1};
  }

  // Two steps may meet on many chunks; one edge is enough.
  void wait(std::int32_t before, std::int32_t step) {
    if (before < 0 || before == step || seen_[before] == step) return;
    seen_[before] = step;
    edges_.push_back({before, step});
  }

  const Part& part_;
  std::int32_t first_chunk_[kBuffers];
  std::vector<Chunk> chunks_;
  std::vector<Reader> readers_;
  std::vector<std::int32_t> seen_;
  std::vector<Edge> edges_;
};

// Messages on one way (to a peer, or from it) are posted in program order.
void keep_messages_in_order(Plan& plan) {
  Rank largest = -1;
  for (const Step& step : plan.part.program) largest = std::max(largest, step.peer);
  std::vector<std::int32_t> previous(2 * static_cast<std::size_t>(largest + 1), -1);
  for (std::int32_t i = 0; const Step& step : plan.part.program) {
    if (step.op == Op::send || step.op == Op::recv) {
      std::int32_t& before = previous[2 * step.peer + (step.op == Op::send)];
      if (before >= 0) plan.links[before].behind = i, ++plan.waits[i];
      before = i;
    }
    ++i;
  }
}

}  // namespace

Plan make_plan(Part part) {
  Plan plan{.part = std::move(part)};
  plan.waits.resize(plan.part.program.size());
  plan.links.resize(plan.part.program.size() + 1);
  Analysis analysis(plan.part);
  for (std::size_t i = 0; i < plan.part.program.size(); ++i) analysis.add(static_cast<std::int32_t>(i));
  analysis.put_into(plan);
  keep_messages_in_order(plan);
  return plan;
}

std::vector<Plan> make_plans(std::vector<Part> parts) {
  std::vector<Plan> plans;
  plans.reserve(parts.size());
  for (Part& part : parts) plans.push_back(make_plan(std::move(part)));
  return plans;
}

}  // namespace gradwire
