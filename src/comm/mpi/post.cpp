#include "comm/mpi/post.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "comm/messages.h"
#include "comm/mpi/session.h"
#include "net/backoff.h"
#include "net/fault.h"
#include "net/overdue.h"

namespace gradwire {
namespace {

constexpr int kHeads = 1, kBodies = 2, kNotices = 3;  // tags
constexpr std::size_t kLongestPiece = 1 << 30;        // MPI counts with an int

bool has_ended(MPI_Request& request) {
  int ended = 1;
  if (request != MPI_REQUEST_NULL) check_mpi(MPI_Test(&request, &ended, MPI_STATUS_IGNORE), "MPI_Test");
  return ended != 0;
}

}  // namespace

MpiPost::~MpiPost() {
  for (Letter& letter : letters_) {
    letter.body.push_back(letter.head);
    for (MPI_Request& request : letter.body) {
      if (request == MPI_REQUEST_NULL) continue;
      if (letter.receives) MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
}

void MpiPost::exchange(std::span<const Message> messages, const MpiCall& call) {
  for (const Message& message : messages) {
    const auto add = [&](std::span<std::byte> bytes, bool receives) {
      letters_.push_back({.peer = message.peer,
                          .mine = signature_of(call.signature, message.tag, bytes.size()),
                          .theirs = {},
                          .bytes = bytes,
                          .receives = receives});
      begin(letters_.back());
    };
    if (message.in) add(*message.in, true);
    if (message.out) add({const_cast<std::byte*>(message.out->data()), message.out->size()}, false);
  }
  const Deadline deadline = Deadline::after(call.timeout);
  const auto ended = [&] {
    std::set<Rank> slow;
    std::erase_if(letters_, [&](Letter& letter) { return advance(letter, slow); });
    return letters_.empty();
  };
  Backoff(world_.size).wait(ended, [&] { check_patience(call, deadline); });
}

// The signature first; what is received follows it only when it is the right one.
void MpiPost::begin(Letter& letter) {
  constexpr int kSize = sizeof(Signature);
  if (!check_) return begin_body(letter);
  if (letter.receives) {
    check_mpi(MPI_Irecv(&letter.theirs, kSize, MPI_BYTE, letter.peer, kHeads, group_, &letter.head),
              "MPI_Irecv");
  } else {
    check_mpi(MPI_Isend(&letter.mine, kSize, MPI_BYTE, letter.peer, kHeads, group_, &letter.head),
              "MPI_Isend");
    begin_body(letter);
  }
}

void MpiPost::begin_body(Letter& letter) {
  for (std::size_t at = 0; at < letter.bytes.size(); at += kLongestPiece) {
    const int count = static_cast<int>(std::min(kLongestPiece, letter.bytes.size() - at));
    std::byte* const place = letter.bytes.data() + at;
    letter.body.push_back(MPI_REQUEST_NULL);
    if (letter.receives)
      check_mpi(MPI_Irecv(place, count, MPI_BYTE, letter.peer, kBodies, group_, &letter.body.back()),
                "MPI_Irecv");
    else
      check_mpi(MPI_Isend(place, count, MPI_BYTE, letter.peer, kBodies, group_, &letter.body.back()),
                "MPI_Isend");
  }
}

// Whether the letter has come or gone. Bodies of one sender are asked for in the order in which they are sent: one whose signature is
// here waits for those before it, whose senders are in `slow`.
bool MpiPost::advance(Letter& letter, std::set<Rank>& slow) {
  const bool expects_head = letter.receives && letter.head != MPI_REQUEST_NULL;
  if (expects_head && slow.contains(letter.peer)) return false;
  if (!has_ended(letter.head)) {
    if (expects_head) slow.insert(letter.peer);
    return false;
  }
  if (expects_head) {
    if (letter.theirs != letter.mine)
      throw Mismatch(describe_mismatch(name(world_.rank), letter.mine, name(letter.peer), letter.theirs));
    begin_body(letter);
  }
  return std::all_of(letter.body.begin(), letter.body.end(), has_ended);
}

// What another rank gave up for is raised here too.
void MpiPost::look_for_notices() const {
  int told = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kNotices, group_, &told, &status), "MPI_Iprobe");
  if (told == 0) return;
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  std::string text(static_cast<std::size_t>(length), '\0');
  check_mpi(MPI_Recv(text.data(), length, MPI_BYTE, status.MPI_SOURCE, kNotices, group_, MPI_STATUS_IGNORE),
            "MPI_Recv");
  Fault::decode(text).raise(name(world_.rank));
}

// MPI tells of no death, and a rank that is dead sends no notice.
void MpiPost::look_for_the_dead(const MpiCall& call) {
  if (!next_look_.passed()) return;
  if (const auto dead = watchdog_.find_dead())
    throw PeerLost(*dead, fmt::format("rank {} is lost: its process is gone during {}", *dead,
                                      describe(call.signature)));
  next_look_ = Deadline::after(kLookEvery);
}

void MpiPost::check_patience(const MpiCall& call, Deadline deadline) {
  if (call.cancelled)
    throw Cancelled(fmt::format("rank {} gave up {}", name(world_.rank), describe(call.signature)));
  look_for_notices();
  look_for_the_dead(call);
  if (!deadline.passed()) return;
  std::set<Rank> awaited;
  for (const Letter& letter : letters_) awaited.insert(name(letter.peer));
  throw Overdue(
      fmt::format("rank {} waited {} for rank{} {} in {}", name(world_.rank), format_seconds(call.timeout),
                  awaited.size() == 1 ? "" : "s", fmt::join(awaited, ", "), describe(call.signature)),
      {awaited.begin(), awaited.end()});
}

// The text stays until MPI is done with it, which may be never: so it is never freed.
void tell_everybody(const World& world, MPI_Comm group, const std::exception& why) noexcept try {
  const auto* const text =
      std::make_unique<std::string>(Fault::of(why, world.global(world.rank)).encode()).release();
  for (Rank peer = 0; peer < world.size; ++peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (peer == world.rank) continue;
    MPI_Isend(text->data(), static_cast<int>(text->size()), MPI_BYTE, peer, kNotices, group, &request);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
} catch (const std::bad_alloc&) {  // then nothing can be told
}

}  // namespace gradwire
