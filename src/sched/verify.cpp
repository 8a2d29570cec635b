#include "sched/verify.h"

#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "sched/set_fabric.h"

namespace gradwire {
namespace {

void check_shapes(Collective kind, std::span<const Part> parts) {
  const int world = static_cast<int>(parts.size());
  for (Rank rank = 0; rank < world; ++rank) {
    const Shape& shape = parts[rank].shape;
    const int chunks_out = shape.chunks[kOut], chunks_in = shape.chunks[kIn];
    if (parts[rank].rank != rank)
      throw Error(fmt::format("malformed: part {} is that of rank {}", rank, parts[rank].rank));
    if (chunks_out != parts[0].shape.chunks[kOut] || chunks_in != parts[0].shape.chunks[kIn])
      throw Error(fmt::format("malformed: ranks 0 and {} divide their buffers differently", rank));
    const bool fits = kind == Collective::reduce_scatter ? chunks_in == world * chunks_out
                      : kind == Collective::all_gather   ? chunks_out == world * chunks_in
                      : kind == Collective::all_to_all   ? chunks_out == chunks_in && chunks_in % world == 0
                                                         : chunks_in == 0;
    if (!fits || chunks_out == 0)
      throw Error(fmt::format("malformed: rank {} has {} chunks in and {} out, which {} over {} ranks can't",
                              rank, chunks_in, chunks_out, name_of(kind), world));
  }
}

void check_steps(std::span<const Part> parts) {
  const int world = static_cast<int>(parts.size());
  for (const Part& part : parts)
    for (std::int32_t i = 0; const Step& step : part.program) {
      const StepId id{part.rank, i++};
      for (const Slice& slice : {step.src, step.dst})
        if (slice.first < 0 || slice.count < 0 || slice.first + slice.count > part.shape.chunks[slice.buffer])
          throw Error(fmt::format("malformed: {} names a chunk there isn't", describe(id, step)));
      const bool talks = step.op == Op::send || step.op == Op::recv;
      if (talks && (step.peer < 0 || step.peer >= world || step.peer == part.rank))
        throw Error(fmt::format("malformed: {} names a peer there isn't", describe(id, step)));
    }
}

using Messages = std::map<std::pair<Rank, Rank>, std::vector<std::pair<StepId, const Step*>>>;

Messages messages_of(std::span<const Part> parts, Op op) {
  Messages messages;
  for (const Part& part : parts)
    for (std::int32_t i = 0; const Step& step : part.program) {
      const auto way = op == Op::send ? std::pair(part.rank, step.peer) : std::pair(step.peer, part.rank);
      if (step.op == op) messages[way].push_back({{part.rank, i}, &step});
      ++i;
    }
  return messages;
}

void check_messages(std::span<const Part> parts) {
  Messages sends = messages_of(parts, Op::send), recvs = messages_of(parts, Op::recv);
  for (const auto& [way, sent] : sends)
    if (const std::size_t taken = recvs[way].size(); sent.size() > taken)
      throw Error(fmt::format("lost message: {} is never received",
                              describe(sent[taken].first, *sent[taken].second)));
  for (const auto& [way, taken] : recvs)
    if (const std::size_t sent = sends[way].size(); taken.size() > sent)
      throw Error(fmt::format("stuck: {} waits for a message that is never sent",
                              describe(taken[sent].first, *taken[sent].second)));
}

// What a rank's out chunk must hold in the end.
struct Expected {
  int chunk;
  Rank rank;  // the one whose data it is, or kAll
  static constexpr Rank kAll = -1;
};

struct Goal {
  Collective kind;
  int world;
  Rank root;

  Expected at(const Part& part, int chunk) const {
    const int pieces_out = part.shape.chunks[kOut], pieces_in = part.shape.chunks[kIn];
    switch (kind) {
      case Collective::reduce_scatter:
        return {part.rank * pieces_out + chunk, Expected::kAll};
      case Collective::all_gather:
        return {chunk % pieces_in, chunk / pieces_in};
      case Collective::all_to_all: {
        const int pieces = pieces_in / world;
        return {part.rank * pieces + chunk % pieces, chunk / pieces};
      }
      case Collective::broadcast:
        return {chunk, root};
      case Collective::reduce:
        return {chunk, part.rank == root ? Expected::kAll : part.rank};
      default:
        return {chunk, Expected::kAll};
    }
  }
};

void check_content(const std::string& where, const Content& content, Expected expected, int world) {
  if (content.chunk == Content::kNothing) throw Error(fmt::format("wrong chunk: {} holds nothing", where));
  if (content.chunk != expected.chunk)
    throw Error(
        fmt::format("wrong chunk: {} holds chunk {} instead of {}", where, content.chunk, expected.chunk));
  const std::vector<Rank> missing = content.ranks.missing_of(world);
  if (expected.rank == Expected::kAll) {
    if (!missing.empty())
      throw Error(fmt::format("wrong chunk: {} misses the data of rank {}", where, fmt::join(missing, ", ")));
  } else if (!content.ranks.contains(expected.rank) || static_cast<int>(missing.size()) != world - 1) {
    throw Error(fmt::format("wrong chunk: {} does not hold the data of rank {} alone", where, expected.rank));
  }
}

void check_results(const Goal& goal, std::span<const Part> parts, const SetFabric& fabric) {
  for (const Part& part : parts)
    for (int chunk = 0; chunk < part.shape.chunks[kOut]; ++chunk) {
      const Content& got = fabric.content(part.rank, kOut, chunk);
      const std::string where = fmt::format("rank {}'s out chunk {}", part.rank, chunk);
      check_content(where, got, goal.at(part, chunk), goal.world);
      if (goal.kind == Collective::all_reduce && got.recipe != fabric.content(0, kOut, chunk).recipe)
        throw Error(fmt::format("different sums: ranks 0 and {} add up chunk {} in different orders",
                                part.rank, chunk));
    }
}

}  // namespace

void verify(Collective kind, std::span<const Part> parts, Rank root) {
  check(!parts.empty(), "there is nothing to verify");
  check_shapes(kind, parts);
  check_steps(parts);
  check_messages(parts);
  SetFabric fabric(kind, parts, root);
  const std::vector<Plan> plans = make_plans({parts.begin(), parts.end()});
  Engine().run(plans, fabric);
  check_results({kind, static_cast<int>(parts.size()), root}, parts, fabric);
}

}  // namespace gradwire
