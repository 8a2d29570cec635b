#include "launch/launcher.h"

#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "launch/inner_ranks.h"
#include "launch/signal_watch.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

constexpr Seconds kLookAroundEvery = 0.5;  // how soon is noticed what no signal tells of
constexpr Seconds kLookWithinEvery = 0.2;  // and that a rank within another program has died

void say(const LaunchOptions& options, const std::string& text) {
  fmt::print(stderr, "{}: {}\n", options.name, printable(text, Lines::keep));
}

// A signal that asks the launcher to end; others that have come are of no use where no rank runs.
std::optional<int> find_interruption(SignalWatch& signals) {
  while (const auto number = signals.next())
    if (*number != SIGUSR1 && *number != SIGUSR2) return number;
  return std::nullopt;
}

// One attempt of the job on this node.
class Attempt {
 public:
  Attempt(const LaunchOptions& options, Council& council, const Seating& seating, SignalWatch& signals)
      : options_(options),
        council_(council),
        number_(seating.attempt),
        may_leave_(can_do_without(options, seating)),
        signals_(signals),
        group_(members(options, seating), group_options(seating)),
        within_(options.sole_program.empty() ? -1 : group_.process_groups().front(), options.rank_variable) {}

  // Ranks whose launcher has lost the others have lost theirs too, and say whom they miss if they have the time.
  std::optional<Failure> run() {
    try {
      see_to_the_end();
      council_.report_end(number_);
      wait_for_other_nodes();
      auto failure = council_.conclude(number_);
      if (failure && interrupted_by_ != 0) failure->final = true, failure->exit_code = 128 + interrupted_by_;
      return failure;
    } catch (const TransportError& error) {
      council_.give_up_store(error.what());
      group_.end();
      while (!group_.wait(Deadline::after(kLookAroundEvery))) {
      }
      if (!finished_) throw;
      say(options_, fmt::format("{}; all work is done already", error.what()));
      return std::nullopt;
    }
  }

 private:
  void see_to_the_end() {
    const Seconds often = options_.sole_program.empty() ? kLookAroundEvery : kLookWithinEvery;
    while (!group_.wait(Deadline::after(often), signals_.descriptor(), !told_)) {
      pass_signals_on();
      look_around();
      look_within();
      end_idlers();
    }
    look_around();
    finished_ = !group_.failure() && (options_.ranks_leave || council_.all_work_is_done());
    if (const auto& problem = group_.output_problem(); !problem.empty())
      council_.report_failure(number_, {1, "what the ranks said could not be written: " + problem, true});
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
    if ((outcome.kind != Outcome::Kind::killed && !inner) || !has_done_its_work(outcome.rank)) return false;
    say(options_, fmt::format("{} after {} work was done", called(outcome), inner ? "all" : "its"));
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
      say(options_, fmt::format("{}: passed on to the ranks, which have {}; once more kills them",
                                describe_signal(number), format_seconds(options_.group.interrupt_grace)));
      interrupted_ = Deadline::after(kAtOnce);
      interrupted_by_ = number;
      if (may_leave_) report_interruption(number);
      group_.interrupt(number);
    } else if (interrupted_->passed()) {
      group_.kill();
    }
  }

  void report_interruption(int number) {
    const auto signal = describe_signal(number);
    if (may_leave_)
      council_.report_failure(number_, {1, fmt::format("node {} leaves: {}", options_.node, signal), false});
    else
      council_.report_failure(number_, {128 + number, "interrupted by " + signal, true});
  }

  // Tells the others when this node has failed, and ends this node when another has.
  void look_around() {
    if (group_.failure() && !told_) {
      told_ = true;
      const Outcome& failed = *group_.failure();
      if (options_.sole_program.empty())
        council_.report_lost_rank(failed.rank, fmt::format("it {}", describe_end(failed)));
      council_.report_failure(number_,
                              {interrupted_ ? 128 + interrupted_by_ : exit_code_of(*group_.failure()),
                               explain(*group_.failure()), interrupted_.has_value()});
    }
    if (options_.nodes > 1 && council_.find_failure(number_)) group_.end();
    if (!group_.stopped().empty() && !std::exchange(told_of_stopped_, true))
      say(options_,
          fmt::format("rank {} was stopped when the job was ended", fmt::join(group_.stopped(), ", rank ")));
  }

  // A program that has ranks within it says by its own end alone that one has died, and ends the others. So the first
  // count; of one that has joined the others speak, once they hear of it.
  void look_within() {
    if (interrupted_ || told_ || !lost_within_.empty()) return;
    lost_within_ = within_.look();
    std::erase_if(lost_within_, [this](Rank rank) { return council_.needs_nobody(rank); });
    for (const Rank rank : lost_within_) {
      if (!council_.has_joined(rank))
        say(options_, fmt::format("rank {} is gone before it had joined", rank));
      council_.report_lost_rank(rank, "its process is gone");
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

  // Where all that run have ended their work nothing is left to wait for: one that does not end by itself is
  // stopped, or hangs on its way out. The ranks wait for each other as long as the timeout, and end by themselves
  // then; hence a little more.
  void end_idlers() {
    constexpr Seconds kMore = 1;
    const auto running = group_.running();
    const bool idle = std::all_of(running.begin(), running.end(),
                                  [this](Rank rank) { return all_in(rank, &Council::needs_nobody); });
    if (!idle) return idle_until_.reset();
    if (!idle_until_) idle_until_ = Deadline::after(options_.timeout + kMore);
    if (idle_until_->passed()) group_.end();
  }

  std::string called(const Outcome& outcome) const {
    return options_.sole_program.empty() ? describe(outcome)
                                         : fmt::format("{} {}", options_.sole_program, describe_end(outcome));
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
    while (!council_.has_ended(number_)) {
      wait_until_ready(signals_.descriptor(), POLLIN, Deadline::after(kLookAroundEvery));
      const auto number = find_interruption(signals_);
      if (!number) continue;
      if (council_.all_work_is_done())
        return say(options_, fmt::format("{}: all work is done already", describe_signal(*number)));
      interrupted_by_ = *number;
      return report_interruption(*number);
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
  std::optional<Deadline> idle_until_;  // when ranks that have nothing left to do are ended
  bool told_ = false, told_of_stopped_ = false;
  bool finished_ = false;  // this node's ranks have ended, and the work of all is done
};

// How the job ended is settled, so a signal only says that the other launchers should hurry to read it.
void leave(const LaunchOptions& options, Council& council, SignalWatch& signals) {
  constexpr Seconds kOften = 0.02;
  Deadline deadline = Deadline::after(options.timeout);
  try {
    council.say_goodbye();
    while (council.is_needed() && !deadline.passed()) {
      wait_until_ready(signals.descriptor(), POLLIN, Deadline::after(kOften));
      if (find_interruption(signals))
        deadline = Deadline::after(std::min(options.group.grace, deadline.remaining()));
    }
  } catch (const TransportError&) {  // who would hear it is out of reach
  }
  while (signals.next()) {  // one that is left would end this process with another exit code
  }
}

// The other nodes must not wait for a node that could not even begin.
std::optional<Failure> run_attempt(const LaunchOptions& options, Council& council, const Seating& seating,
                                   SignalWatch& signals) {
  try {
    return Attempt(options, council, seating, signals).run();
  } catch (const ConfigError& error) {
    council.report_failure(seating.attempt,
                           {1, fmt::format("node {}: {}", options.node, error.what()), true});
    council.report_end(seating.attempt);
    leave(options, council, signals);
    throw;
  }
}

CouncilOptions council_options(const LaunchOptions& options) {
  return {options.nodes,  options.node,         options.least_nodes, options.master,
          options.secret, options.max_restarts, options.timeout};
}

}  // namespace

Environment rank_environment(const LaunchOptions& options, const Seating& seating, int local_rank) {
  Environment environment = options.environment;
  environment["RANK"] = std::to_string(seating.first_rank + local_rank);
  environment["WORLD_SIZE"] = std::to_string(seating.size);
  environment["LOCAL_RANK"] = std::to_string(local_rank);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(seating.local_size);
  environment["GROUP_RANK"] = std::to_string(seating.group_rank);
  environment["MASTER_ADDR"] = seating.master_host;
  environment["MASTER_PORT"] = std::to_string(seating.master_port);
  environment["GRADWIRE_STORE"] = seating.store;
  environment["GRADWIRE_SECRET"] = options.secret;
  environment["GRADWIRE_TIMEOUT"] = fmt::format("{}", options.timeout);
  environment["GRADWIRE_RESTART"] = std::to_string(seating.attempt);
  if (!options.interface.empty()) environment["GRADWIRE_INTERFACE"] = options.interface;
  environment.erase("TORCHELASTIC_USE_AGENT_STORE");  // this launcher keeps no port of theirs
  const auto share = std::to_string(std::max(1, usable_cores() / seating.local_size));
  environment.try_emplace("OMP_NUM_THREADS", share);
  environment.try_emplace("OPENBLAS_NUM_THREADS", share);
  return environment;
}

bool is_final(const LaunchOptions& options, int exit_code) {
  return std::find(options.final_codes.begin(), options.final_codes.end(), exit_code) !=
         options.final_codes.end();
}

namespace {

// Who is in a generation is worth a line where it may change.
void announce(const LaunchOptions& options, const Seating& seating) {
  if (options.nodes == 1 || (options.least_nodes == 0 && seating.attempt == 0)) return;
  say(options, fmt::format("generation {}: {}, {} rank{} in all", seating.attempt, describe(seating.roster),
                           seating.size, seating.size == 1 ? "" : "s"));
}

// One attempt and what became of it: nothing when there is to be another, else the exit code.
std::optional<int> see_through(const LaunchOptions& options, Council& council, const Seating& seating) {
  SignalWatch signals({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2});
  announce(options, seating);
  const auto failure = run_attempt(options, council, seating, signals);
  const bool in_vain = failure && (failure->final || is_final(options, failure->exit_code));
  if (failure) say(options, failure->text);
  if (failure && !in_vain && seating.attempt < seating.max_restarts) {
    say(options, fmt::format("restart {} of {}", seating.attempt + 1, seating.max_restarts));
    return std::nullopt;
  }
  leave(options, council, signals);
  return failure ? failure->exit_code : 0;
}

}  // namespace

int launch(const LaunchOptions& given) {
  LaunchOptions options = given;
  if (options.secret.empty()) options.secret = make_secret();
  Council council(council_options(options));
  Seating seating;
  for (;;) {
    try {
      seating = council.begin(options.ranks);
      if (const auto code = see_through(options, council, seating)) return *code;
    } catch (const TransportError& error) {  // a node that is cut off may come back
      if (options.node == 0 || seating.attempt >= seating.max_restarts) throw;
      say(options,
          fmt::format("{}; trying for {} to take part again", error.what(), format_seconds(options.timeout)));
      council.rejoin();
    }
  }
}

}  // namespace gradwire
