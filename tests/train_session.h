#pragma once

// `gradwire train` started as a user starts it, for the tests of it.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/session.h"

namespace gradwire {

inline Session gradwire_train(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {GRADWIRE_PROGRAM, "train"});
  return Session(std::move(arguments));
}

inline nlohmann::json run_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  auto run = gradwire_train(std::move(arguments));
  EXPECT_EQ(run.finish(), 0) << run.text();
  const auto brace = run.text().find('{');  // warnings of ranks come before it, on stderr
  return brace == std::string::npos ? nlohmann::json::object()
                                    : nlohmann::json::parse(run.text().substr(brace), nullptr, false);
}

}  // namespace gradwire
