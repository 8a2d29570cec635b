#include "sched/set_fabric.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

bool starts_in_out(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce || kind == Collective::broadcast ||
         kind == Collective::barrier;
}

std::uint64_t mix(std::uint64_t first, std::uint64_t second) {
  std::uint64_t x = first * 0x9E3779B97F4A7C15u + second + 0x632BE59BD9B4E019u;
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
  return x ^ x >> 32;
}

[[noreturn]] void throw_wrong(StepId id, const Step& step, const std::string& what) {
  throw Error(fmt::format("wrong chunk: {} {}", describe(id, step), what));
}

}  // namespace

void RankSet::add(Rank rank) {
  const std::size_t word = static_cast<std::size_t>(rank) / 64;
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << rank % 64;
}

void RankSet::add(const RankSet& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

bool RankSet::contains(Rank rank) const {
  const std::size_t word = static_cast<std::size_t>(rank) / 64;
  return word < words_.size() && (words_[word] >> rank % 64 & 1) != 0;
}

std::vector<Rank> RankSet::common_with(const RankSet& other) const {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
    for (std::uint64_t both = words_[i] & other.words_[i]; both != 0; both &= both - 1)
      ranks.push_back(static_cast<Rank>(64 * i) + std::countr_zero(both));
  return ranks;
}

std::vector<Rank> RankSet::missing_of(int world) const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < world; ++rank)
    if (!contains(rank)) ranks.push_back(rank);
  return ranks;
}

SetFabric::SetFabric(Collective kind, std::span<const Part> parts, Rank root)
    : kind_(kind), world_(static_cast<int>(parts.size())) {
  const Buffer input = starts_in_out(kind) ? kOut : kIn;
  for (const Part& part : parts) {
    for (int buffer = 0; buffer < kBuffers; ++buffer)
      chunks_[buffer].emplace_back(static_cast<std::size_t>(part.shape.chunks[buffer]));
    if (kind == Collective::broadcast && part.rank != root) continue;
    for (int chunk = 0; Content & content : chunks_[input].back()) {
      content.chunk = chunk++;
      content.ranks.add(part.rank);
      content.recipe = mix(static_cast<std::uint64_t>(part.rank), static_cast<std::uint64_t>(content.chunk));
    }
  }
}

const Content& SetFabric::content(Rank rank, Buffer buffer, int chunk) const {
  return chunks_[buffer][rank][chunk];
}

std::span<Content> SetFabric::contents(Rank rank, const Slice& slice) {
  return std::span(chunks_[slice.buffer][rank]).subspan(slice.first, slice.count);
}

std::vector<Content> SetFabric::read(StepId id, const Step& step) {
  const std::span<Content> source = contents(id.rank, step.src);
  for (const Content& content : source) {
    if (content.chunk == Content::kNothing) throw_wrong(id, step, "reads what nobody has written");
    if (step.src.buffer == kScratch && content.place != step.src)
      throw_wrong(id, step, "reads other pieces of scratch than were written");
  }
  return {source.begin(), source.end()};
}

void SetFabric::write(StepId id, const Step& step, std::vector<Content> values) {
  if (step.dst.buffer == kIn) throw_wrong(id, step, "writes the input");
  if (static_cast<int>(values.size()) != step.dst.count)
    throw_wrong(id, step, fmt::format("is given {} chunks", values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (step.dst.buffer == kScratch && values[i].chunk != step.dst.like + static_cast<int>(i))
      throw_wrong(id, step, fmt::format("is given chunk {}", values[i].chunk));
    values[i].place = step.dst;
  }
  std::move(values.begin(), values.end(), contents(id.rank, step.dst).begin());
}

void SetFabric::reduce(StepId id, const Step& step) {
  std::vector<Content> sum = read(id, Step::copy(step.dst, step.dst));
  const std::vector<Content> more = read(id, step);
  if (sum.size() != more.size()) throw_wrong(id, step, "has sides of different length");
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i].chunk != more[i].chunk)
      throw_wrong(id, step, fmt::format("mixes chunks {} and {}", sum[i].chunk, more[i].chunk));
    const std::vector<Rank> twice = sum[i].ranks.common_with(more[i].ranks);
    if (!twice.empty() && kind_ != Collective::barrier)
      throw_wrong(id, step, fmt::format("adds twice the data of rank {}", fmt::join(twice, ", ")));
    sum[i].ranks.add(more[i].ranks);
    sum[i].recipe = step.swapped ? mix(more[i].recipe, sum[i].recipe) : mix(sum[i].recipe, more[i].recipe);
    const bool complete = sum[i].ranks.missing_of(world_).empty();
    if (complete != step.last && kind_ != Collective::barrier)
      throw_wrong(id, step,
                  complete ? "completes the sum but is not marked last" : "is marked last too early");
  }
  write(id, step, std::move(sum));
}

void SetFabric::start(StepId id, const Step& step) {
  switch (step.op) {
    case Op::send: {
      Queue& queue = queues_[{id.rank, step.peer}];
      queue.sends.push_back({id, &step});
      return meet(queue);
    }
    case Op::recv: {
      Queue& queue = queues_[{step.peer, id.rank}];
      queue.recvs.push_back({id, &step});
      return meet(queue);
    }
    case Op::reduce:
      reduce(id, step);
      break;
    case Op::copy:
      write(id, step, read(id, step));
      break;
    case Op::compute:
      break;
  }
  done_.push_back(id);
}

void SetFabric::meet(Queue& queue) {
  while (!queue.sends.empty() && !queue.recvs.empty()) {
    const Message send = queue.sends.front(), recv = queue.recvs.front();
    queue.sends.pop_front();
    queue.recvs.pop_front();
    write(recv.id, *recv.step, read(send.id, *send.step));
    done_.push_back(send.id);
    done_.push_back(recv.id);
  }
}

Event SetFabric::next() {
  if (done_.empty()) throw_stuck();
  Event event;
  event.step = done_.front();
  done_.pop_front();
  return event;
}

void SetFabric::throw_stuck() const {
  std::vector<std::string> waiting;
  for (const auto& [way, queue] : queues_)
    for (const auto* messages : {&queue.sends, &queue.recvs})
      if (!messages->empty()) waiting.push_back(describe(messages->front().id, *messages->front().step));
  throw Error(fmt::format("stuck: these wait for each other: {}", fmt::join(waiting, "; ")));
}

std::string describe(const Slice& slice) {
  constexpr const char* kNames[kBuffers] = {"out", "in", "scratch"};
  if (slice.count == 1) return fmt::format("{} chunk {}", kNames[slice.buffer], slice.first);
  return fmt::format("{} chunks {}..{}", kNames[slice.buffer], slice.first, slice.first + slice.count - 1);
}

std::string describe(StepId id, const Step& step) {
  const std::string who = fmt::format("rank {}, step {}", id.rank, id.index);
  switch (step.op) {
    case Op::send:
      return fmt::format("{} (send {} to rank {})", who, describe(step.src), step.peer);
    case Op::recv:
      return fmt::format("{} (receive {} from rank {})", who, describe(step.dst), step.peer);
    case Op::reduce:
      return fmt::format("{} (add {} to {})", who, describe(step.src), describe(step.dst));
    case Op::copy:
      return fmt::format("{} (copy {} to {})", who, describe(step.src), describe(step.dst));
    case Op::compute:
      break;
  }
  return who + " (compute)";
}

}  // namespace gradwire
