// Ranks tell each other what they are about to do and find out who disagrees; and when they are done with it,
// so that nobody closes connections others still read from: Gloo takes a closed connection for a failure even
// when all it waits for has arrived. Belongs to one thread.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <memory>
#include <vector>

#include "base/collective.h"
#include "base/deadline.h"
#include "net/world.h"

namespace gradwire {

class RollCall {
 public:
  RollCall(const World& world, const std::shared_ptr<gloo::Context>& context);

  // Returns once every rank is in the same call, so it is a barrier too: whether all of them say `ready`.
  // Throws Mismatch showing both sides, and what Gloo throws.
  bool hold(const Signature& call, bool ready);

  // Whose word had not come when hold() threw.
  std::vector<Rank> missing() const;

  // Tells the others that this rank is done with the call; waits for nobody.
  void dismiss();

  // Waits until all others have said the same of the last call, or are gone.
  void wait_for_dismissal(const Deadline& deadline) noexcept;

 private:
  // What a rank says; fixed layout, the same on both ends.
  struct Word {
    Signature call;
    std::uint64_t ready = 0;
  };
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  template <typename Visit>
  void for_each_peer(const Visit& visit) const;
  void expect_words();

  const World& world_;
  Word mine_;
  std::vector<Word> theirs_;
  std::vector<char> heard_;
  bool dismissed_ = false;  // some call was
  char done_ = 0;
  std::vector<char> others_done_;
  Buffer word_out_, word_in_, done_out_, done_in_;
};

}  // namespace gradwire
