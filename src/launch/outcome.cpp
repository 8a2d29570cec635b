#include "launch/outcome.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

// The most derived class of the family an error belongs to.
const char* class_of(const std::exception& error) {
  if (dynamic_cast<const PeerLost*>(&error) != nullptr) return "PeerLost";
  if (dynamic_cast<const Timeout*>(&error) != nullptr) return "Timeout";
  if (dynamic_cast<const TransportError*>(&error) != nullptr) return "TransportError";
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return "ConfigError";
  if (dynamic_cast<const Mismatch*>(&error) != nullptr) return "Mismatch";
  if (dynamic_cast<const Cancelled*>(&error) != nullptr) return "Cancelled";
  if (dynamic_cast<const Error*>(&error) != nullptr) return "Error";
  return "std::exception";
}

}  // namespace

std::string describe_end(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::ok:
      return "ended well";
    case Outcome::Kind::threw:
      return fmt::format("threw {}: {}", outcome.error, outcome.text);
    case Outcome::Kind::failed:
      return "failed";
    case Outcome::Kind::exited:
      return fmt::format("exited with code {}", outcome.code);
    case Outcome::Kind::killed:
      return fmt::format("was killed by {}", describe_signal(outcome.code));
    case Outcome::Kind::stopped:
      return fmt::format("was stopped by {}", describe_signal(outcome.code));
    case Outcome::Kind::hung:
      return "was still running when time was up";
  }
  return "is in an unknown state";
}

std::string describe(const Outcome& outcome) {
  return fmt::format("rank {} {}", outcome.rank, describe_end(outcome));
}

int exit_code_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::ok:
      return 0;
    case Outcome::Kind::exited:
      return outcome.code;
    case Outcome::Kind::killed:
    case Outcome::Kind::stopped:
      return 128 + outcome.code;
    default:
      return 1;
  }
}

Outcome run_guarded(Rank rank, const std::function<void()>& function) {
  Outcome outcome;
  outcome.rank = rank;
  try {
    function();
  } catch (const std::exception& error) {
    outcome.kind = Outcome::Kind::threw;
    outcome.error = class_of(error);
    outcome.text = error.what();
    if (const auto* lost = dynamic_cast<const PeerLost*>(&error)) outcome.peer = lost->peer();
  }
  return outcome;
}

Outcome outcome_of_process(Rank rank, int wait_status) {
  Outcome outcome;
  outcome.rank = rank;
  if (WIFSIGNALED(wait_status)) {
    outcome.kind = Outcome::Kind::killed;
    outcome.code = WTERMSIG(wait_status);
  } else if (WEXITSTATUS(wait_status) != 0) {
    outcome.kind = Outcome::Kind::exited;
    outcome.code = WEXITSTATUS(wait_status);
  }
  return outcome;
}

std::string encode(const Outcome& outcome) {
  const auto head = fmt::format("{},{},{},{},{}\n", outcome.rank, static_cast<int>(outcome.kind),
                                outcome.error, outcome.peer, outcome.code);
  return head + outcome.text.substr(0, kLongestReport - head.size());
}

Outcome decode_outcome(std::string_view bytes) {
  const auto end = bytes.find('\n');
  const auto fields = split(bytes.substr(0, end), ',');
  if (end == std::string_view::npos || fields.size() != 5)
    throw TransportError("what a rank told of its end is cut short");
  Outcome outcome;
  outcome.rank = find_integer<Rank>(fields[0]).value_or(-1);
  outcome.kind = static_cast<Outcome::Kind>(find_integer<int>(fields[1]).value_or(0));
  outcome.error = fields[2];
  outcome.peer = find_integer<Rank>(fields[3]).value_or(-1);
  outcome.code = find_integer<int>(fields[4]).value_or(0);
  outcome.text = bytes.substr(end + 1);
  return outcome;
}

}  // namespace gradwire
