// Who the ranks of a communicator are, which of them are still there, and what each is in: everything ranks
// tell each other beside NCCL, through the store. Knows neither CUDA nor NCCL. Any thread may call.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/deadline.h"
#include "base/mutex.h"
#include "net/shm/peer_watch.h"
#include "net/world.h"

namespace gradwire {

// What a rank tells the others of itself. A value.
struct RankCard {
  std::string host;           // ranks with the same text are on one host
  std::string process_space;  // within which the number of a process means something
  pid_t process = 0;
  int device = 0;
  std::string gpu;      // its PCI address
  std::string problem;  // why this rank can't take part; empty when it can
  bool operator==(const RankCard&) const = default;
};
RankCard describe_this_process();  // host and process filled in
std::string encode(const RankCard&);
RankCard decode(std::string_view text);

// Throws ConfigError when a rank has a problem or two ranks are on one GPU, the same on every rank.
void check_placement(const std::vector<RankCard>& cards);

class Roster {
 public:
  // Shows the card and waits for everybody's. Throws Timeout saying how many ranks came and who did not,
  // PeerLost, and what check_placement() throws.
  Roster(const World& world, const RankCard& mine);

  // The text that rank 0 gives to all.
  std::string share(std::string_view key, const std::string& text_of_rank_0);

  // A rank of this host whose process has ended, well or not.
  std::optional<Rank> find_ended();

  // Waits for everybody's signature of the call. Throws Mismatch, Timeout, PeerLost.
  void check_same_call(const Signature& call);

  // What the first rank that failed had to say, if one did. A store that is out of reach says nothing.
  struct Alarm {
    bool timed_out = false;
    std::string text;
  };
  std::optional<Alarm> find_alarm();
  void raise_alarm(const Alarm& alarm);  // unless one is raised already
  void leave(const std::string& why);    // raises the alarm; to the others this rank is gone from now on

  // Raises the alarm, tells which call this rank is stuck in, and waits a moment for the others to tell the
  // same. Whoever failed because another did has told before it ended, so a rank that is gone without a word
  // is the cause.
  struct Account {
    std::vector<std::optional<Signature>> stuck;  // by rank; nothing from those that are silent
    std::optional<Rank> gone;                     // without a word
    std::optional<Rank> left;                     // of its own will: see leave()
  };
  Account take_account(const Signature& call, const Alarm& alarm, Deadline moment);

  std::string describe(Rank rank) const;  // "rank 1 (process 4242, GPU 1 at 0000:0B:00.0)"

 private:
  std::string key(std::string_view what, Rank rank) const;
  std::vector<RankCard> gather(const RankCard& mine);
  std::string missing_ranks(std::string_view what) const;
  void tell(const Signature& call, const Alarm& alarm);
  bool listen(Account& account);
  bool all_accounted(const Account& account);
  bool has_ended(Rank rank);

  const World world_;
  std::vector<RankCard> cards_;

  Mutex mutex_;
  PeerWatch watch_ GUARDED_BY(mutex_);
};

}  // namespace gradwire
