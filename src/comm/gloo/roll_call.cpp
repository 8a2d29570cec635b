#include "comm/gloo/roll_call.h"

#include <gloo/types.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace gradwire {
namespace {

// Gloo's own collectives use the first few prefixes.
std::uint64_t words() { return gloo::Slot::build(0x77, 0); }
std::uint64_t dismissals() { return gloo::Slot::build(0x78, 0); }

}  // namespace

RollCall::RollCall(const World& world, const std::shared_ptr<gloo::Context>& context)
    : world_(world),
      theirs_(static_cast<std::size_t>(world.size)),
      heard_(static_cast<std::size_t>(world.size), 1),
      others_done_(static_cast<std::size_t>(world.size)),
      word_out_(context->createUnboundBuffer(&mine_, sizeof mine_)),
      word_in_(context->createUnboundBuffer(theirs_.data(), theirs_.size() * sizeof(Word))),
      done_out_(context->createUnboundBuffer(&done_, 1)),
      done_in_(context->createUnboundBuffer(others_done_.data(), others_done_.size())) {
  expect_words();
}

template <typename Visit>
void RollCall::for_each_peer(const Visit& visit) const {
  for (Rank peer = 0; peer < world_.size; ++peer)
    if (peer != world_.rank) visit(peer);
}

// Gloo sends only what the other side has said it expects, so it is said early: it saves a round trip.
void RollCall::expect_words() {
  for_each_peer([&](Rank peer) {
    word_in_->recv(peer, words(), static_cast<std::size_t>(peer) * sizeof(Word), sizeof(Word));
  });
}

bool RollCall::hold(const Signature& call, bool ready) {
  mine_ = {call, ready ? 1u : 0u};
  std::fill(heard_.begin(), heard_.end(), 0);
  heard_[static_cast<std::size_t>(world_.rank)] = 1;
  for_each_peer([&](Rank peer) { word_out_->send(peer, words()); });
  for_each_peer([&](Rank) {
    int heard = -1;
    word_in_->waitRecv(&heard);
    heard_[static_cast<std::size_t>(heard)] = 1;
  });
  for_each_peer([&](Rank) { word_out_->waitSend(); });

  bool all_ready = ready;
  for_each_peer([&](Rank peer) {
    const Word& word = theirs_[static_cast<std::size_t>(peer)];
    if (word.call != call)
      throw Mismatch(describe_mismatch(world_.global(world_.rank), call, world_.global(peer), word.call));
    all_ready = all_ready && word.ready != 0;
  });
  expect_words();
  return all_ready;
}

std::vector<Rank> RollCall::missing() const {
  std::vector<Rank> missing;
  for (Rank peer = 0; peer < world_.size; ++peer)
    if (heard_[static_cast<std::size_t>(peer)] == 0) missing.push_back(peer);
  return missing;
}

// Whoever held the roll call that just ended had dismissed the call before, so these waits end at once.
void RollCall::dismiss() {
  if (dismissed_) {
    for_each_peer([&](Rank) { done_in_->waitRecv(); });
    for_each_peer([&](Rank) { done_out_->waitSend(); });
  }
  dismissed_ = true;
  for_each_peer([&](Rank peer) {
    done_in_->recv(peer, dismissals(), static_cast<std::size_t>(peer), 1);
    done_out_->send(peer, dismissals());
  });
}

void RollCall::wait_for_dismissal(const Deadline& deadline) noexcept try {
  if (!dismissed_) return;
  const auto left = [&] { return std::chrono::milliseconds(deadline.remaining_ms()); };
  for_each_peer([&](Rank) { done_in_->waitRecv(left()); });
  for_each_peer([&](Rank) { done_out_->waitSend(left()); });
} catch (...) {  // they are gone, and need nothing any more
}

}  // namespace gradwire
