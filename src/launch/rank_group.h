// The programs of one job on this host, from start to end: their output, their fates, and the rule that when
// one fails the others are ended. A resource; when it goes, nothing of the job is left running. Belongs to
// one thread; other threads may run beside it.
//
//   RankGroup group({{0, {"./train"}, environment}, ...}, {});
//   while (!group.wait(Deadline::after(1))) look_after_other_things();
//   if (group.failure()) ...
//
// A program may itself start the ranks, as mpirun does; it counts as one member.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "launch/child_process.h"
#include "launch/lines.h"
#include "launch/orphans.h"
#include "launch/outcome.h"
#include "launch/program.h"

namespace gradwire {

struct Member {
  Rank rank = 0;
  std::vector<std::string> command;
  Environment environment;
};

struct GroupOptions {
  enum class Output {
    inherit,  // goes where that of this process goes, as it comes
    prefix,   // goes to `out` and `error` in whole lines with "[rank] " in front
    files     // goes to rank-N.log in `log_dir`
  };
  Output output = Output::prefix;
  int out = 1, error = 2;  // descriptors that outlive the group
  std::filesystem::path log_dir = {};
  bool append = false;           // to those files, as after a restart
  Seconds grace = 10;            // from SIGTERM to SIGKILL
  Seconds interrupt_grace = 60;  // the same after interrupt(): time to finish what is begun
  // Whether a rank that ended badly had done its work before: then it has not failed. Asked once a rank.
  std::function<bool(const Outcome&)> is_excused = {};
};

class RankGroup {
 public:
  // Starts all of them, or throws ConfigError and leaves none.
  RankGroup(const std::vector<Member>& members, const GroupOptions& options);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  // Until all have ended and what they wrote is passed on (true), the deadline, `wake` becomes readable, or,
  // where asked for, one has failed. After kill(), or the grace, a reader that is stuck is not waited for any more.
  bool wait(Deadline deadline, int wake = -1, bool or_failure = false);
  std::vector<Rank> running() const;          // those that have not ended
  std::vector<pid_t> process_groups() const;  // of all, by the number of the process that leads each
  // The first that failed by itself, not because it was told to end.
  const std::optional<Outcome>& failure() const { return failure_; }
  bool all_well() const { return all_ended() && well_; }  // whatever they were told
  // Those that were stopped when the others were told to end, which wakes them.
  const std::vector<Rank>& stopped() const { return stopped_; }

  // False when wait() is over: whoever reads was stuck, and the rest is lost.
  bool all_written() const { return out_.empty() && error_.empty(); }
  // Why what the ranks wrote could not all be passed on; empty: it could.
  const std::string& output_problem() const {
    return out_.problem().empty() ? error_.problem() : out_.problem();
  }

  void signal(int number);  // to all that live
  // To all that live, stopped ones included, and kill() when the grace is over; wait() sees to it.
  void interrupt(int number);
  void end();   // the same by SIGTERM
  void kill();  // SIGKILL

 private:
  struct Running {
    Rank rank;
    ChildProcess process;
    bool ended = false;
  };

  void start_member(Member member);
  LineSource& add_pipe(Rank rank, LineSink& sink, Fd& write_end);
  void poll_once(Deadline deadline, int wake);
  void move_output();
  void note_ended();
  void note_stopped();
  void clean_up();
  void abandon();
  bool all_ended() const;
  bool reader_is_stuck() const { return heard_until_ && heard_until_->passed(); }

  const GroupOptions options_;
  OrphanKeeper orphans_;
  LineSink out_, error_;
  std::deque<LineSource> sources_;
  std::vector<Running> running_;
  std::optional<Deadline> kill_at_;
  std::optional<Deadline> heard_until_;  // how long whoever reads has after kill()
  bool ending_ = false, swept_ = false;
  bool well_ = true;  // of those that have ended
  std::optional<Outcome> failure_;
  std::vector<Rank> stopped_;
};

}  // namespace gradwire
