#include "comm/messages.h"

#include <algorithm>

#include "base/error.h"
#include "comm/kernels/kernels.h"

namespace gradwire {
namespace {

// A buffer cut into a part for each rank.
template <typename Byte>
std::vector<std::span<Byte>> cut(std::span<Byte> buffer, const std::vector<std::size_t>& parts, int world) {
  std::vector<std::span<Byte>> pieces;
  for (std::size_t rank = 0, at = 0; rank < static_cast<std::size_t>(world); ++rank) {
    const std::size_t bytes = parts.empty() ? buffer.size() / static_cast<std::size_t>(world) : parts[rank];
    pieces.push_back(buffer.subspan(at, bytes));
    at += bytes;
  }
  return pieces;
}

void require_own_part(const Call& call, std::size_t given, std::size_t wanted, Rank me) {
  if (given != wanted)
    throw ConfigError(
        fmt::format("{} with {} bytes in and {} bytes out: rank {}'s own part has {} bytes, but {} "
                    "are given for it",
                    name_of(call.kind), call.in.size(), call.out.size(), me, wanted, given));
}

// In place is where the rank's own part of the output lies; anything else would be overwritten while it is sent.
void require_own_place(const Call& call, std::span<std::byte> mine) {
  const bool overlaps =
      call.in.data() < call.out.data() + call.out.size() && call.out.data() < call.in.data() + call.in.size();
  if (overlaps && call.in.data() != mine.data())
    throw ConfigError(
        fmt::format("{}: in and out overlap, and in is not this rank's own part of out", name_of(call.kind)));
}

void add_gather(Call& call, Rank me, int world) {
  if (me == call.root) {
    const auto parts = cut(call.out, call.out_parts, world);
    require_own_part(call, call.in.size(), parts[static_cast<std::size_t>(me)].size(), me);
    require_own_place(call, parts[static_cast<std::size_t>(me)]);
    for (Rank from = 0; from < world; ++from) call.messages.push_back({.peer = from, .in = parts[from]});
  }
  call.messages.push_back({.peer = call.root, .out = call.in});
}

void add_scatter(Call& call, Rank me, int world) {
  if (me == call.root) {
    const auto parts = cut(call.in, call.in_parts, world);
    require_own_part(call, call.out.size(), parts[static_cast<std::size_t>(me)].size(), me);
    for (Rank to = 0; to < world; ++to) call.messages.push_back({.peer = to, .out = parts[to]});
  }
  call.messages.push_back({.peer = call.root, .in = call.out});
}

void add_all_gather(Call& call, Rank me, int world) {
  const auto parts = cut(call.out, call.out_parts, world);
  require_own_part(call, call.in.size(), parts[static_cast<std::size_t>(me)].size(), me);
  require_own_place(call, parts[static_cast<std::size_t>(me)]);
  for (Rank peer = 0; peer < world; ++peer)
    call.messages.push_back({.peer = peer, .out = call.in, .in = parts[peer]});
}

void add_all_to_all(Call& call, Rank me, int world) {
  const auto out = cut(call.in, call.in_parts, world);
  const auto in = cut(call.out, call.out_parts, world);
  require_own_part(call, in[static_cast<std::size_t>(me)].size(), out[static_cast<std::size_t>(me)].size(),
                   me);
  for (Rank peer = 0; peer < world; ++peer)
    call.messages.push_back({.peer = peer, .out = out[peer], .in = in[peer]});
}

// What comes is added up, so where it is put is not known yet: see add_up().
void add_reduce_scatter(Call& call, Rank me, int world) {
  const auto parts = cut(call.in, call.in_parts, world);
  require_own_part(call, call.out.size(), parts[static_cast<std::size_t>(me)].size(), me);
  for (Rank peer = 0; peer < world; ++peer) call.messages.push_back({.peer = peer, .out = parts[peer]});
}

// What a rank sends to itself: the n-th goes where the n-th comes from there. Returns the other messages.
std::vector<Message> deliver_own(std::span<const Message> messages, const Signature& call, Rank me) {
  std::vector<Message> others;
  std::vector<const Message*> sent, received;
  for (const Message& message : messages) {
    if (message.peer != me) others.push_back(message);
    if (message.peer == me && message.out) sent.push_back(&message);
    if (message.peer == me && message.in) received.push_back(&message);
  }
  if (sent.size() != received.size())
    throw Mismatch(fmt::format("rank {} sends itself {} messages and receives {} of them", me, sent.size(),
                               received.size()));
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto from = signature_of(call, sent[i]->tag, sent[i]->out->size());
    const auto to = signature_of(call, received[i]->tag, received[i]->in->size());
    if (from != to) throw Mismatch(describe_mismatch(me, from, me, to));
    copy_bytes(received[i]->in->data(), sent[i]->out->data(), from.bytes);
  }
  return others;
}

// Everybody's part for this rank comes to scratch, and is combined there in rank order.
void add_up(Collectives& collectives, const Call& call, const Signature& signature, Memory& scratch) {
  const auto ranks = static_cast<std::size_t>(collectives.size());
  const std::size_t me = static_cast<std::size_t>(collectives.rank()), part = call.out.size();
  const std::size_t stride = (part + 63) / 64 * 64;
  if (scratch.bytes().size() < ranks * stride) scratch = collectives.allocate(ranks * stride);
  std::vector<Message> messages;
  std::vector<const std::byte*> sources;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto place = scratch.bytes().subspan(rank * stride, part);
    sources.push_back(rank == me ? call.messages[me].out->data() : place.data());
    if (rank == me) continue;
    messages.push_back(call.messages[rank]);
    messages.back().in = place;
  }
  collectives.exchange(messages, signature, call.timeout);
  std::byte* const total = call.out.data();
  combine(best_isa(), call.dtype, call.reduction, sources, {&total, 1}, part);
}

}  // namespace

bool is_of_messages(const Call& call) {
  return call.kind >= Collective::gather || !call.in_parts.empty() || !call.out_parts.empty();
}

Call spell_out(Call call, Rank me, int world) {
  if (is_point_to_point(call.kind)) return call;
  call.messages.clear();
  if (call.kind == Collective::gather) add_gather(call, me, world);
  if (call.kind == Collective::scatter) add_scatter(call, me, world);
  if (call.kind == Collective::all_gather && is_of_messages(call)) add_all_gather(call, me, world);
  if (call.kind == Collective::all_to_all) add_all_to_all(call, me, world);
  if (call.kind == Collective::reduce_scatter && is_of_messages(call)) add_reduce_scatter(call, me, world);
  for (Message& message : call.messages) message.tag = call.tag;
  return call;
}

Signature signature_of(const Signature& call, std::uint32_t tag, std::size_t bytes) {
  if (is_point_to_point(call.kind)) return {.bytes = bytes, .tag = tag, .kind = Collective::send};
  Signature message = call;
  message.bytes = bytes;
  return message;
}

void run_call(Collectives& collectives, const Call& call, const Signature& signature, Memory& scratch) {
  if (!is_of_messages(call)) return collectives.run(call, signature);
  if (call.kind == Collective::reduce_scatter) return add_up(collectives, call, signature, scratch);
  const auto others = deliver_own(call.messages, signature, collectives.rank());
  if (!others.empty()) collectives.exchange(others, signature, call.timeout);
}

}  // namespace gradwire
