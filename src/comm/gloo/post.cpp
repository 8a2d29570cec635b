#include "comm/gloo/post.h"

#include <gloo/types.h>

#include "base/error.h"
#include "comm/gloo/mesh.h"
#include "comm/messages.h"

namespace gradwire {
namespace {

// Gloo's own collectives use the first few prefixes, the roll call two more.
std::uint64_t heads() { return gloo::Slot::build(0x79, 0); }
std::uint64_t bodies() { return gloo::Slot::build(0x7a, 0); }

}  // namespace

Post::Post(const World& world, gloo::Context& context, bool check)
    : world_(world),
      context_(context),
      check_(check),
      in_(static_cast<std::size_t>(world.size)),
      read_(static_cast<std::size_t>(world.size)) {}

// All that leaves is on its way before anything is waited for; what comes is taken in the order in which it comes.
void Post::exchange(std::span<const Message> messages, const Signature& call, Seconds timeout) {
  const auto patience = gloo_timeout(timeout);
  for (const Message& message : messages) {
    if (message.out)
      out_.push_back({message.peer,
                      signature_of(call, message.tag, message.out->size()),
                      {const_cast<std::byte*>(message.out->data()), message.out->size()},
                      {},
                      {}});
    if (message.in)
      in_[message.peer].push_back(
          {message.peer, signature_of(call, message.tag, message.in->size()), *message.in, {}, {}});
  }
  for (Letter& letter : out_) send(letter);
  if (check_) read_heads(patience);
  for (auto& letters : in_)
    for (Letter& letter : letters)
      if (!check_) expect(letter);
  for (auto& letters : in_)
    for (; !letters.empty(); letters.pop_front())
      if (letters.front().body) letters.front().body->waitRecv(patience);
  for (; !out_.empty(); out_.pop_front()) {
    if (out_.front().head) out_.front().head->waitSend(patience);
    if (out_.front().body) out_.front().body->waitSend(patience);
  }
}

void Post::send(Letter& letter) {
  if (check_) {
    letter.head = context_.createUnboundBuffer(&letter.signature, sizeof letter.signature);
    letter.head->send(letter.peer, heads());
  }
  if (letter.bytes.empty()) return;
  letter.body = context_.createUnboundBuffer(letter.bytes.data(), letter.bytes.size());
  letter.body->send(letter.peer, bodies());
}

void Post::expect(Letter& letter) {
  if (letter.bytes.empty()) return;
  letter.body = context_.createUnboundBuffer(letter.bytes.data(), letter.bytes.size());
  letter.body->recv(letter.peer, bodies());
}

// A head of each sender is asked for at a time. Not of any of them, though Gloo has that: it would not notice that one is gone.
//
// Gloo counts the heads that have come but remembers the sender of the latest alone. So a head is known by what it says: one
// that is as expected has come, whoever's arrival was told; and once as many have come as are asked for, all have.
void Post::read_heads(std::chrono::milliseconds timeout) {
  constexpr Signature kNothing{.sequence = ~std::uint64_t{0}, .bytes = ~std::uint64_t{0}};
  std::vector<Signature> theirs(in_.size(), kNothing);
  const auto buffer = context_.createUnboundBuffer(theirs.data(), theirs.size() * sizeof(Signature));
  int told = 0;  // arrivals, less those whose sender is known
  const auto ask = [&](std::size_t from) {
    theirs[from] = kNothing;
    buffer->recv(static_cast<int>(from), heads(), from * sizeof(Signature), sizeof(Signature));
  };
  const auto take = [&](std::size_t from) {
    Letter& letter = in_[from][read_[from]++];
    --told;
    if (theirs[from] != letter.signature)
      throw Mismatch(describe_mismatch(world_.global(world_.rank), letter.signature,
                                       world_.global(static_cast<Rank>(from)), theirs[from]));
    expect(letter);
    if (read_[from] < in_[from].size()) ask(from);
  };
  for (const int rank : senders()) ask(static_cast<std::size_t>(rank));
  while (!senders().empty() || told < 0) {
    buffer->waitRecv(timeout);
    ++told;
    const auto asked = senders();
    const bool all = told == static_cast<int>(asked.size());
    for (const int rank : asked) {
      const auto from = static_cast<std::size_t>(rank);
      if (all || theirs[from] == in_[from][read_[from]].signature) take(from);
    }
  }
}

std::vector<int> Post::senders() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < in_.size(); ++rank)
    if (read_[rank] < in_[rank].size()) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<Rank> Post::awaited() const {
  std::vector<Rank> ranks = senders();
  if (ranks.empty() && !out_.empty()) ranks.push_back(out_.front().peer);
  return ranks;
}

}  // namespace gradwire
