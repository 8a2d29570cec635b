// The launchers of a job, one on each node, agreeing on its course through a store that the first of them
// hosts: who takes part, who has which ranks, whether an attempt failed, when it is over everywhere. A job on one node is a
// council of one. The ranks meet in the same store, in a space of their own for each attempt.
//
// Each attempt is a generation with a roster that node 0 draws up: of the launchers that are there and ready, at
// least `least` of `nodes`. So nodes may leave and come between generations. One that was cut off comes back with
// rejoin(); a new launcher may take the seat of one that is gone.
//
// A launcher that does not belong is refused by name and changes nothing for the others: one that was told of
// another number of nodes, or a second one for a node that has one. Every wait has a deadline: launchers let
// hear from themselves while they run, and one that is silent for the timeout counts as gone.
//
// While an attempt runs a launcher has signals to hear, so nothing here waits for the store for longer than a second: then
// StoreSilent is thrown, and whatever was asked may be asked again.
//
// A resource; belongs to one thread.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "launch/roster.h"
#include "net/address/address.h"
#include "net/store/server.h"
#include "net/store/store.h"

namespace gradwire {

struct CouncilOptions {
  int nodes = 1, node = 0;
  int least = 0;                   // nodes to begin with; 0: all
  std::optional<HostPort> master;  // where node 0 hosts the store; none: on a free port of loopback
  std::string secret;
  int max_restarts = 0;   // node 0's counts
  Seconds timeout = 300;  // for the other launchers to come
};

// What the ranks of an attempt must know.
struct Seating {
  int attempt = 0;
  int max_restarts = 0;
  Rank first_rank = 0;  // on this node
  int local_size = 1, size = 1;
  NodeRoster roster = {};         // the nodes that take part, in the order of their ranks
  int group_rank = 0;             // this node's place among them
  std::string store = {};         // for GRADWIRE_STORE
  std::string master_host = {};   // these two free for the programs' own use: MASTER_ADDR
  std::uint16_t master_port = 0;  // and MASTER_PORT
};

struct Failure {
  int exit_code = 1;
  std::string text = {};
  bool final = false;  // not to be tried again
};

// The store has not answered for a moment. When it has not for the timeout, another TransportError says so.
class StoreSilent : public Timeout {
 public:
  using Timeout::Timeout;
};

class Council {
 public:
  explicit Council(const CouncilOptions& options);  // throws Timeout, ConfigError

  // Says that this node is ready with so many ranks, and waits for a generation that it is in: an attempt later
  // than any it was in before. Nothing: the job has ended well without it. Throws TransportError when the store is out of
  // reach, Error when the job has failed without it.
  std::optional<Seating> begin(int local_ranks);
  // After the store was out of reach: connects again, for begin() to take part from the next generation on. Throws Timeout
  // when it stays so. Not for node 0.
  void rejoin();

  // The first word of any launcher on how an attempt ended counts, on all nodes alike: this, or conclude()'s.
  void report_failure(int attempt, const Failure& failure);
  std::optional<Failure> find_failure(int attempt);  // also when a launcher is gone
  void report_end(int attempt);                      // this node's ranks have ended
  bool has_ended(int attempt);                       // those of all nodes have
  // Of the attempt, in words; empty: none is. One that was silent for longer than `patience`, or the timeout, counts.
  std::string find_lost_launcher(Seconds patience = std::numeric_limits<Seconds>::infinity());
  // How the attempt ended, once it has: done is done, whatever becomes of launchers after that.
  std::optional<Failure> conclude(int attempt);
  void give_up_store(const std::string& why);  // nothing is asked of it any more, until rejoin()
  void say_goodbye();  // the last word of a launcher but the first, which stays while it is needed
  bool is_needed();    // another launcher may still ask the store that is here

  // Of the ranks of the attempt that was begun last, on all nodes. A loss is told to the ranks that still wait for it.
  void report_lost_rank(Rank rank, const std::string& reason);
  bool has_joined(Rank rank);
  bool has_done_its_work(Rank rank);
  bool needs_nobody(Rank rank);  // it has done its work, or has left it unfinished because it was told to
  bool all_work_is_done();
  // Of so many ranks that another program starts: who was lost first, who never came. Empty where all is well.
  std::string describe_losses(int ranks);

 private:
  struct Heard {
    std::string last;
    Deadline until;  // when it counts as gone
  };

  static std::string key_of(const char* what, int attempt);
  template <typename Question>
  auto ask(Store& store, const Question& question);
  void set(const std::string& key, const std::string& value);
  std::string find(const std::string& key);
  std::string find(const char* what, int number);
  std::string find_of_ranks(const std::string& name);
  std::shared_ptr<Store> enter(Rank as, const std::string& space) const;
  void claim_last_word(int attempt, const std::string& text);
  bool all_have_ended(int attempt);
  bool has_ended_well();
  void hear_of_the_end();
  void take_seat();
  void let_hear();
  Seconds silence_of(int node);
  bool is_gone(int node);
  void draw_up_roster(int attempt);
  NodeRoster ready_nodes();
  bool all_have_answered(const NodeRoster& ready);
  Seating take_place(int attempt, const NodeRoster& roster, const NodeRoster::Entry& mine);
  std::optional<Seating> find_seating();
  [[noreturn]] void give_up(const NodeRoster& ready);

  const CouncilOptions options_;
  const int least_;
  const std::string name_;               // of this launcher, among all that may ever have its seat
  HostPort place_;                       // of the store
  std::unique_ptr<StoreServer> server_;  // on node 0
  HostPort door_;                        // by which this launcher itself goes in
  std::shared_ptr<Store> store_;
  std::shared_ptr<Store> ranks_;          // the space of the ranks of an attempt
  std::string out_of_reach_;              // why the store is, once one of the two connections has found out
  std::optional<Deadline> silent_until_;  // when a store that does not answer is out of reach
  bool running_ = false;                  // an attempt is: this launcher has signals to hear
  bool seated_ = false;                   // since it connected
  std::uint64_t beats_ = 0;
  int times_ready_ = 0, last_attempt_ = -1;
  NodeRoster roster_;           // of the attempt that was begun last
  std::map<int, Heard> heard_;  // of the other nodes
};

}  // namespace gradwire
