// The environment in which a watched program runs: what it needs to leave traces and logs is added, and what the user set
// is never replaced. A pure function of values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/rendezvous/environment.h"

namespace gradwire {

struct WatchWindow {
  std::optional<int>
      start;  // steps of the optimizer before it; absent: a short one early, then one after ten
  int steps = 8;
};

struct WatchPlan {
  Environment environment;              // all of it
  std::vector<std::string> left_alone;  // what the user set and is therefore not collected, for people
};

struct WatchPlaces {
  std::filesystem::path folder;          // where things are left
  std::filesystem::path hook;            // where hook_text() lies as files
  std::filesystem::path nccl_profiler;   // the plugin; empty: there is none
  std::filesystem::path users_profiler;  // one that NCCL would find by itself; empty: none
  std::string nccl_settings;             // what NCCL's own files of settings hold
};

WatchPlan plan_watch(const Environment& users, const WatchPlaces& places, const WatchWindow& window);

// The user's variables that decide how a run communicates and computes, as lines NAME=VALUE; others may be secrets.
std::string telling_variables(const Environment& users);

}  // namespace gradwire
