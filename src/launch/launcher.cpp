#include "launch/launcher.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>

#include "base/cpu.h"
#include "base/error.h"
#include "base/say.h"
#include "base/secret.h"
#include "launch/attempt.h"
#include "launch/signal_watch.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

// Whether this launcher still has to be there: to say goodbye, or for others.
bool stays(Council& council) {
  try {
    council.say_goodbye();
    return council.is_needed();
  } catch (const StoreSilent&) {
    return true;
  } catch (const TransportError&) {  // who would hear it is out of reach
    return false;
  }
}

// How the job ended is settled, so a signal only says that the other launchers should hurry to read it.
void leave(const LaunchOptions& options, Council& council, SignalWatch& signals) {
  constexpr Seconds kOften = 0.02;
  Deadline deadline = Deadline::after(options.timeout);
  while (stays(council) && !deadline.passed()) {
    wait_until_ready(signals.descriptor(), POLLIN, Deadline::after(kOften));
    if (signals.find_interruption()) deadline = std::min(deadline, Deadline::after(options.group.grace));
  }
  while (signals.next()) {  // one that is left would end this process with another exit code
  }
}

// The other nodes must not wait for a node that could not even begin.
std::optional<Failure> try_once(const LaunchOptions& options, Council& council, const Seating& seating,
                                SignalWatch& signals) {
  try {
    return run_attempt(options, council, seating, signals);
  } catch (const ConfigError& error) {
    try {
      council.report_failure(seating.attempt,
                             {1, fmt::format("node {}: {}", options.node, error.what()), true});
      council.report_end(seating.attempt);
    } catch (const TransportError&) {  // they will notice that it is gone
    }
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
  say(options.name, fmt::format("generation {}: {}, {} rank{} in all", seating.attempt,
                                describe(seating.roster), seating.size, seating.size == 1 ? "" : "s"));
}

// One attempt and what became of it: nothing when there is to be another, else the exit code.
std::optional<int> see_through(const LaunchOptions& options, Council& council, const Seating& seating) {
  SignalWatch signals({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2});
  announce(options, seating);
  const auto failure = try_once(options, council, seating, signals);
  const bool in_vain = failure && (failure->final || is_final(options, failure->exit_code));
  if (failure) say(options.name, failure->text);
  if (failure && !in_vain && seating.attempt < seating.max_restarts) {
    say(options.name, fmt::format("restart {} of {}", seating.attempt + 1, seating.max_restarts));
    return std::nullopt;
  }
  leave(options, council, signals);
  return failure ? failure->exit_code : 0;
}

// A node that is cut off may come back where there may be another attempt. Before its first it has only its own word for that.
bool may_come_back(const LaunchOptions& options, const std::optional<Seating>& seating) {
  if (options.node == 0) return false;
  return seating ? seating->attempt < seating->max_restarts : options.max_restarts > 0;
}

}  // namespace

int launch(const LaunchOptions& given) {
  LaunchOptions options = given;
  if (options.secret.empty()) options.secret = make_secret();
  Council council(council_options(options));
  std::optional<Seating> seating;
  for (;;) {
    try {
      const auto begun = council.begin(options.ranks);
      if (!begun) {
        say(options.name, "the job has ended well without this node");
        return 0;
      }
      seating = begun;
      if (const auto code = see_through(options, council, *seating)) return *code;
    } catch (const TransportError& error) {
      if (!may_come_back(options, seating)) throw;
      say(options.name,
          fmt::format("{}; trying for {} to take part again", error.what(), format_seconds(options.timeout)));
      council.rejoin();
    }
  }
}

}  // namespace gradwire
