// Messages between two ranks over Gloo's connections. Before each goes its signature, so that a disagreement is found before
// Gloo puts bytes where there is no room for them. One call of exchange() an object; one thread.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "comm/collectives.h"
#include "net/world.h"

namespace gradwire {

class Post {
 public:
  Post(const World& world, gloo::Context& context, bool check);
  // Throws Mismatch, and what Gloo throws.
  void exchange(std::span<const Message> messages, const Signature& call, Seconds timeout);
  std::vector<Rank> awaited() const;  // whose messages had not come, or not gone, when it threw

 private:
  struct Letter {
    Rank peer = 0;
    Signature signature;
    std::span<std::byte> bytes;
    std::unique_ptr<gloo::transport::UnboundBuffer> head, body;
  };
  void send(Letter& letter);
  void expect(Letter& letter);
  void read_heads(std::chrono::milliseconds timeout);
  std::vector<int> senders() const;

  const World& world_;
  gloo::Context& context_;
  const bool check_;
  std::deque<Letter> out_;
  std::vector<std::deque<Letter>> in_;  // by sender, in order
  std::vector<std::size_t> read_;       // by sender: how many heads
};

}  // namespace gradwire
