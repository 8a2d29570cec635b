#pragma once

// `gradwire run` started as a user starts it, for the tests of it.

#include <string>
#include <utility>
#include <vector>

#include "support/session.h"

namespace gradwire {

inline const std::string kGradwire = GRADWIRE_PROGRAM, kRank = GRADWIRE_TEST_RANK;

inline Session gradwire_run(std::vector<std::string> arguments, const Environment& environment = {}) {
  arguments.insert(arguments.begin(), {kGradwire, "run"});
  return Session(std::move(arguments), environment);
}

}  // namespace gradwire
