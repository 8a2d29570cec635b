#include "support/outcome.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "base/error.h"

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

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string describe_kind(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::ok:
      return "ended well";
    case Outcome::Kind::threw:
      return fmt::format("threw {}: {}", outcome.error, outcome.text);
    case Outcome::Kind::failed:
      return "failed an expectation";
    case Outcome::Kind::exited:
      return fmt::format("exited with code {}", outcome.code);
    case Outcome::Kind::killed:
      return fmt::format("was killed by {}", signal_name(outcome.code));
    case Outcome::Kind::stopped:
      return fmt::format("was stopped by {}", signal_name(outcome.code));
    case Outcome::Kind::hung:
      return "was still running at the deadline";
  }
  return "is in an unknown state";
}

}  // namespace

Outcome run_one(const RankFunction& function, const World& world) {
  Outcome outcome;
  outcome.rank = world.rank;
  try {
    function(world);
  } catch (const std::exception& error) {
    outcome.kind = Outcome::Kind::threw;
    outcome.error = class_of(error);
    outcome.text = error.what();
    if (const auto* lost = dynamic_cast<const PeerLost*>(&error)) outcome.peer = lost->peer();
  }
  return outcome;
}

std::string describe(const Outcome& outcome) {
  return fmt::format("rank {} {}", outcome.rank, describe_kind(outcome));
}

void PrintTo(const Outcome& outcome, std::ostream* out) { *out << describe(outcome); }

void expect_all_ok(const std::vector<Outcome>& outcomes) {
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << describe(outcome);
}

}  // namespace gradwire
