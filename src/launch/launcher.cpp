#include "launch/launcher.h"

#include <poll.h>

#include <algorithm>
#include <csignal>

#include "base/cpu.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "launch/signal_watch.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

// How soon a failure on another node is noticed; alone there is nothing to look for.
Seconds look_around_every(const LaunchOptions& options) { return options.nodes > 1 ? 0.5 : 3600; }

void say(const LaunchOptions& options, const std::string& text) {
  fmt::print(stderr, "{}: {}\n", options.name, printable(text, Lines::keep));
}

// One attempt of the job on this node.
class Attempt {
 public:
  Attempt(const LaunchOptions& options, Council& council, const Seating& seating)
      : options_(options),
        council_(council),
        number_(seating.attempt),
        signals_({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}),
        group_(members(options, seating), group_options(seating)) {}

  std::optional<Failure> run() {
    while (!group_.wait(Deadline::after(look_around_every(options_)), signals_.descriptor(), !told_)) {
      pass_signals_on();
      look_around();
    }
    look_around();
    council_.report_end(number_);
    wait_for_other_nodes();
    return council_.find_failure(number_);
  }

 private:
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

  // One that is killed when its work is done has not failed: nothing of the job is missing.
  bool is_excused(const Outcome& outcome) {
    if (outcome.kind != Outcome::Kind::killed || interrupted_ || !council_.has_done_its_work(outcome.rank))
      return false;
    say(options_, fmt::format("{} after its work was done", describe(outcome)));
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
      group_.interrupt(number);
    } else if (interrupted_->passed()) {
      group_.kill();
    }
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
  }

  std::string explain(const Outcome& outcome) const {
    std::string said = describe(outcome);
    if (!options_.sole_program.empty())
      said.replace(0, fmt::format("rank {}", outcome.rank).size(), options_.sole_program);
    if (options_.group.output != GroupOptions::Output::files) return said;
    const auto log = options_.group.log_dir / fmt::format("rank-{}.log", outcome.rank);
    return fmt::format("{}; its output is in {}", said, log.string());
  }

  void wait_for_other_nodes() {
    while (!council_.has_ended(number_)) {
      wait_until_ready(signals_.descriptor(), POLLIN, Deadline::after(look_around_every(options_)));
      const auto number = signals_.next();
      if (!number || *number == SIGUSR1 || *number == SIGUSR2) continue;
      council_.report_failure(number_, {128 + *number, "interrupted by " + describe_signal(*number), true});
      return;
    }
  }

  const LaunchOptions& options_;
  Council& council_;
  const int number_;
  SignalWatch signals_;
  RankGroup group_;
  std::optional<Deadline> interrupted_;  // and until when a further signal is the same interruption
  int interrupted_by_ = 0;
  bool told_ = false;
};

// The other nodes must not wait for a node that could not even begin.
std::optional<Failure> run_attempt(const LaunchOptions& options, Council& council, const Seating& seating) {
  try {
    return Attempt(options, council, seating).run();
  } catch (const ConfigError& error) {
    council.report_failure(seating.attempt,
                           {1, fmt::format("node {}: {}", options.node, error.what()), true});
    council.report_end(seating.attempt);
    council.leave();
    throw;
  }
}

CouncilOptions council_options(const LaunchOptions& options) {
  return {options.nodes, options.node, options.master, options.secret, options.max_restarts, options.timeout};
}

}  // namespace

Environment rank_environment(const LaunchOptions& options, const Seating& seating, int local_rank) {
  Environment environment = options.environment;
  environment["RANK"] = std::to_string(seating.first_rank + local_rank);
  environment["WORLD_SIZE"] = std::to_string(seating.size);
  environment["LOCAL_RANK"] = std::to_string(local_rank);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(seating.local_size);
  environment["GROUP_RANK"] = std::to_string(options.node);
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

int launch(const LaunchOptions& given) {
  LaunchOptions options = given;
  if (options.secret.empty()) options.secret = make_secret();
  Council council(council_options(options));
  for (int attempt = 0;; ++attempt) {
    const auto seating = council.begin(attempt, options.ranks);
    const auto failure = run_attempt(options, council, seating);
    const bool in_vain = failure && (failure->final || is_final(options, failure->exit_code));
    const bool again = failure && !in_vain && attempt < seating.max_restarts;
    if (failure) say(options, failure->text);
    if (!again) {
      council.leave();
      return failure ? failure->exit_code : 0;
    }
    say(options, fmt::format("restart {} of {}", attempt + 1, seating.max_restarts));
  }
}

}  // namespace gradwire
