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

// `folder` is where things are left, `hook` where hook_text() lies as files. `nccl_settings` is what NCCL's own files of
// settings hold.
WatchPlan plan_watch(const Environment& users, const std::filesystem::path& folder,
                     const std::filesystem::path& hook, const WatchWindow& window,
                     std::string_view nccl_settings = {});

// The user's variables that decide how a run communicates and computes, as lines NAME=VALUE; others may be secrets.
std::string telling_variables(const Environment& users);

}  // namespace gradwire
