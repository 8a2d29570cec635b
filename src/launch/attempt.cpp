#include "launch/attempt.h"

#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "launch/idleness.h"
#include "launch/inner_ranks.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

constexpr Seconds kLookAroundEvery = 0.5;  // how soon is noticed what no signal tells of
constexpr Seconds kLookWithinEvery = 0.2;  // and that a rank within another program has died

class Attempt {
 public:
  Attempt(const LaunchOptions& options, Council& council, const Seating& seating, SignalWatch& signals)
      : options_(options),
        council_(council),
        number_(seating.attempt),
        may_leave_(can_do_without(options, seating)),
        signals_(signals),
        group_(members(options, seating), group_options(seating)),
        within_(options.sole_program.empty() ? -1 : group_.process_groups().front(), options.rank_variable),
        idleness_(options.timeout) {}

  // Ranks whose launcher has lost the others have lost theirs too, and say whom they miss if they have the time.
  std::optional<Failure> run() {
    try {
      see_to_the_end();
      insist([this] { council_.report_end(number_); });
      wait_for_other_nodes();
      auto failure = insist([this] { return council_.conclude(number_); });
      if (failure && interrupted_by_ != 0) failure->final = true, failure->exit_code = 128 + interrupted_by_;
      return failure;
    } catch (const TransportError& error) {
      council_.give_up_store(error.what());
      group_.end();
      while (!group_.wait(Deadline::after(kLookAroundEvery), signals_.descriptor())) pass_signals_on();
      say_what_is_lost();
      if (!finished_ && interrupted_by_ == 0) throw;
      if (!finished_) return Failure{128 + interrupted_by_, error.what(), true};
      say(options_.name, fmt::format("{}; all work is done already", error.what()));
      return std::nullopt;
    }
  }

 private:
  void see_to_the_end() {
    const Seconds often = options_.sole_program.empty() ? kLookAroundEvery : kLookWithinEvery;
    while (!group_.wait(Deadline::after(often), signals_.descriptor(), !saw_failure_)) {
      pass_signals_on();
      look_after_all();
    }
    say_what_is_lost();
    finished_ = options_.ranks_leave && group_.all_well();  // whether or not the store can be asked
    insist([this] { look_around(); });
    finished_ = finished_ || (!group_.failure() && insist([this] { return council_.all_work_is_done(); }));
    if (const auto& problem = group_.output_problem(); !problem.empty())
      insist([&, this] {
        council_.report_failure(number_, {1, "what the ranks said could not be written: " + problem, true});
      });
  }

  void say_what_is_lost() {
    if (!group_.all_written() && !std::exchange(told_of_unread_, true))
      say(options_.name, "some of what the ranks said is lost: nobody has read it");
  }

  void look_after_all() {
    try {
      look_around();
      look_within();
      end_idlers();
    } catch (const StoreSilent&) {  // the next time, then
    }
  }

  // Asks the council when no rank is left, until the store has answered or was silent for too long. Who is told to end does
  // not wait for that.
  template <typename Question>
  std::invoke_result_t<const Question&> insist(const Question& question) {
    for (;;) {
      try {
        return question();
      } catch (const StoreSilent& silence) {
        const auto number = signals_.find_interruption();
        if (number) interrupted_by_ = *number;
        if (number || (patience_ && patience_->passed())) throw TransportError(silence.what());
      }
    }
  }

  // Whether the other nodes are enough to go on when this one is told to end.
  static bool can_do_without(const LaunchOptions& options, const Seating& seating) {
    const auto others = static_cast<int>(seating.roster.entries.size()) - 1;
    return options.node != 0 && options.least_nodes > 0 && others >= options.least_nodes &&
           seating.attempt < seating.max_restarts;
  }

  static std::vector<Member> members(const LaunchOptions& options, const Seating& seating) {
    std::vector<Member> members;
    for (int local = 0; local < options.ranks; ++local)
      members.push_back(
          {seating.first_rank + local, options.command, rank_environment(options, seating, local)});
    return members;
  }

  GroupOptions group_options(const Seating& seating) {
    GroupOptions group = options_.group;
    group.append = seating.attempt > 0;
    group.is_excused = [this](const Outcome& outcome) { return is_excused(outcome); };
    return group;
  }

  // One that is killed when its work is done has not failed, whoever has killed it: nothing of the job is missing.
  // What became of ranks within another program is known only from how that ended.
  bool is_excused(const Outcome& outcome) {
    const bool inner = !options_.sole_program.empty();
    try {
      if ((outcome.kind != Outcome::Kind::killed && !inner) || !has_done_its_work(outcome.rank)) return false;
    } catch (const StoreSilent&) {  // it is not known to have
      return false;
    }
    say(options_.name, fmt::format("{} after {} work was done", called(outcome), inner ? "all" : "its"));
    return true;
  }

  void pass_signals_on() {
    while (const auto number = signals_.next()) {
      if (*number == SIGUSR1 || *number == SIGUSR2)
        group_.signal(*number);
      else
        interrupt(*number);
    }
  }

  // Some senders, timeout(1) among them, signal the process and its group: two at once count as one.
  void interrupt(int number) {
    constexpr Seconds kAtOnce = 0.2;
    if (!interrupted_) {
      interrupted_ = Deadline::after(kAtOnce);
      interrupted_by_ = number;
      patience_ = Deadline::after(options_.group.interrupt_grace);
      try {
        report_leaving();
      } catch (const TransportError&) {  // look_around() has the same trouble, or none any more
      }
      group_.interrupt(number);
      say(options_.name,
          fmt::format("{}: passed on to the ranks, which have {}; once more kills them",
                      describe_signal(number), format_seconds(options_.group.interrupt_grace)));
    } else if (interrupted_->passed()) {
      group_.kill();
      patience_ = Deadline::after(0);
    }
  }

  // Before the ranks end, which would be taken for the failure.
  void report_leaving() {
    if (!may_leave_ || !interrupted_ || told_of_leaving_) return;
    report_interruption(interrupted_by_);
    told_of_leaving_ = true;
  }

  void report_interruption(int number) {
    const auto signal = describe_signal(number);
    if (may_leave_)
      council_.report_failure(number_, {1, fmt::format("node {} leaves: {}", options_.node, signal), false});
    else
      council_.report_failure(number_, {128 + number, ended_by(number), true});
  }

  // Tells the others when this node has failed, and ends this node when another has.
  void look_around() {
    saw_failure_ = group_.failure().has_value();
    report_leaving();
    if (group_.failure() && !told_) {
      const Outcome& failed = *group_.failure();
      if (options_.sole_program.empty())
        council_.report_lost_rank(failed.rank, fmt::format("it {}", describe_end(failed)));
      council_.report_failure(number_,
                              {interrupted_ ? 128 + interrupted_by_ : exit_code_of(*group_.failure()),
                               why_ended(*group_.failure()), interrupted_.has_value()});
      told_ = true;
    }
    if (options_.nodes > 1 && council_.find_failure(number_)) group_.end();
    if (!group_.stopped().empty() && !std::exchange(told_of_stopped_, true))
      say(options_.name,
          fmt::format("rank {} was stopped when the job was ended", fmt::join(group_.stopped(), ", rank ")));
  }

  // A program that has ranks within it says by its own end alone that one has died, and ends the others. So the first
  // count; of one that has joined the others speak, once they hear of it.
  void look_within() {
    if (interrupted_ || told_ || told_of_lost_) return;
    for (const Rank rank : within_.look()) lost_within_.push_back(rank);
    std::erase_if(lost_within_, [this](Rank rank) { return council_.needs_nobody(rank); });
    for (const Rank rank : lost_within_) {
      if (!council_.has_joined(rank))
        say(options_.name, fmt::format("rank {} is gone before it had joined", rank));
      council_.report_lost_rank(rank, "its process is gone");
      told_of_lost_ = true;
    }
  }

  // Of this rank, or of all where a program has ranks within it.
  bool all_in(Rank rank, bool (Council::*have)(Rank)) {
    if (options_.sole_program.empty()) return (council_.*have)(rank);
    for (Rank inner = 0; inner < options_.ranks_within; ++inner)
      if (!(council_.*have)(inner)) return false;
    return true;
  }
  bool has_done_its_work(Rank rank) { return all_in(rank, &Council::has_done_its_work); }

  void end_idlers() {
    const auto running = group_.running();
    const bool idle = std::all_of(running.begin(), running.end(),
                                  [this](Rank rank) { return all_in(rank, &Council::needs_nobody); });
    if (idleness_.is_enough(idle)) group_.end();
  }

  std::string called(const Outcome& outcome) const {
    return options_.sole_program.empty() ? describe(outcome)
                                         : fmt::format("{} {}", options_.sole_program, describe_end(outcome));
  }

  static std::string ended_by(int number) { return "ended as asked, by " + describe_signal(number); }

  // A rank that does what the signal asks for has not failed.
  std::string why_ended(const Outcome& outcome) const {
    if (!interrupted_) return explain(outcome);
    const auto asked = ended_by(interrupted_by_);
    const bool obeyed = outcome.kind == Outcome::Kind::exited && outcome.code == 128 + interrupted_by_;
    return obeyed ? asked : asked + "; " + explain(outcome);
  }

  std::string explain(const Outcome& outcome) const {
    std::string said = called(outcome);
    if (!lost_within_.empty())
      said += fmt::format(": rank {} is gone", fmt::join(lost_within_, " is gone, rank "));
    else if (const auto lost = council_.describe_losses(options_.ranks_within); !lost.empty())
      said += ": " + lost;
    // Then its ranks are gone too, which may be all that ours have noticed, and sooner: some beats left out are enough here.
    constexpr Seconds kSomeBeats = 2;
    if (const auto gone = options_.nodes > 1 ? council_.find_lost_launcher(kSomeBeats) : ""; !gone.empty())
      said += "; " + gone;
    if (options_.group.output != GroupOptions::Output::files) return said;
    const auto log = options_.group.log_dir / fmt::format("rank-{}.log", outcome.rank);
    return fmt::format("{}; its output is in {}", said, log.string());
  }

  // Where all work is done a signal interrupts nothing.
  void wait_for_other_nodes() {
    while (!insist([this] { return council_.has_ended(number_); })) {
      wait_until_ready(signals_.descriptor(), POLLIN, Deadline::after(kLookAroundEvery));
      const auto number = signals_.find_interruption();
      if (!number) continue;
      if (insist([this] { return council_.all_work_is_done(); }))
        return say(options_.name, fmt::format("{}: all work is done already", describe_signal(*number)));
      interrupted_by_ = *number;
      return insist([&, this] { report_interruption(*number); });
    }
  }

  const LaunchOptions& options_;
  Council& council_;
  const int number_;
  const bool may_leave_;
  SignalWatch& signals_;
  RankGroup group_;
  InnerRanks within_;
  std::vector<Rank> lost_within_;
  std::optional<Deadline> interrupted_;  // and until when a further signal is the same interruption
  int interrupted_by_ = 0;
  std::optional<Deadline> patience_;  // with a silent store, once told to end
  Idleness idleness_;
  bool saw_failure_ = false;  // of this node's ranks
  bool told_ = false, told_of_stopped_ = false, told_of_leaving_ = false, told_of_lost_ = false,
       told_of_unread_ = false;
  bool finished_ = false;  // this node's ranks have ended, and the work of all is done
};

}  // namespace

std::optional<Failure> run_attempt(const LaunchOptions& options, Council& council, const Seating& seating,
                                   SignalWatch& signals) {
  return Attempt(options, council, seating, signals).run();
}

}  // namespace gradwire
