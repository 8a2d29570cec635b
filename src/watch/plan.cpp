#include "watch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace gradwire {
namespace {

const std::string* find_first(const Environment& users, std::initializer_list<std::string_view> names,
                              std::string& which) {
  for (const std::string_view name : names)
    if (const auto found = users.find(name); found != users.end()) {
      which = name;
      return &found->second;
    }
  return nullptr;
}

void ask_nccl(const Environment& users, const std::filesystem::path& folder, std::string_view settings,
              WatchPlan& plan) {
  std::string which;
  if (const auto* value = find_first(users, {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"}, which)) {
    plan.left_alone.push_back(
        fmt::format("{}={} is yours: NCCL logs as you want it, and its log is not read here", which, *value));
    return;
  }
  if (settings.find("NCCL_DEBUG") != std::string_view::npos) {
    plan.left_alone.emplace_back("your nccl.conf says what NCCL logs: its log is not read here");
    return;
  }
  plan.environment["NCCL_DEBUG"] = "INFO";
  plan.environment["NCCL_DEBUG_SUBSYS"] = "INIT,ENV,GRAPH";
  plan.environment["NCCL_DEBUG_FILE"] = (folder / "nccl.%h.%p.log").string();
}

// NCCL opens one profiler a process, 2.23 and later.
void ask_nccl_profiler(const Environment& users, const WatchPlaces& places, WatchPlan& plan) {
  if (places.nccl_profiler.empty()) return;
  const auto kept = [&](const std::string& what) {
    plan.left_alone.push_back(what + ": NCCL's calls are not recorded here");
  };
  if (const auto plugin = find_variable(users, "NCCL_PROFILER_PLUGIN"))
    return kept(fmt::format("NCCL_PROFILER_PLUGIN={} is yours", *plugin));
  if (places.nccl_settings.find("NCCL_PROFILER_PLUGIN") != std::string::npos)
    return kept("your nccl.conf names a profiler");
  if (!places.users_profiler.empty())
    return kept(places.users_profiler.string() + " is NCCL's profiler here");
  plan.environment["NCCL_PROFILER_PLUGIN"] = places.nccl_profiler.string();
  plan.environment["GRADWIRE_NCCL_DIR"] = places.folder.string();
}

void ask_python(const Environment& users, const std::filesystem::path& hook, WatchPlan& plan) {
  const auto path = find_variable(users, "PYTHONPATH");
  plan.environment["PYTHONPATH"] = hook.string() + (path ? ":" + *path : "");
}

// What `gradwire train` would write if --trace were given.
void ask_gradwire(const Environment& users, const std::filesystem::path& folder, WatchPlan& plan) {
  if (const auto trace = find_variable(users, "GRADWIRE_TRACE"))
    plan.left_alone.push_back(
        fmt::format("GRADWIRE_TRACE={} is yours: gradwire train writes its trace there", *trace));
  else
    plan.environment["GRADWIRE_TRACE"] = (folder / "gradwire_train.json").string();
  plan.environment.try_emplace("GRADWIRE_FLIGHT_DIR", folder.string());
}

}  // namespace

WatchPlan plan_watch(const Environment& users, const WatchPlaces& places, const WatchWindow& window) {
  WatchPlan plan{users, {}};
  plan.environment["GRADWIRE_WATCH_DIR"] = places.folder.string();
  plan.environment["GRADWIRE_WATCH_STEPS"] = std::to_string(window.steps);
  plan.environment["GRADWIRE_WATCH_START"] = std::to_string(window.start.value_or(-1));
  ask_python(users, places.hook, plan);
  ask_nccl(users, places.folder, places.nccl_settings, plan);
  ask_nccl_profiler(users, places, plan);
  ask_gradwire(users, places.folder, plan);
  return plan;
}

std::string telling_variables(const Environment& users) {
  constexpr std::string_view kStarts[] = {"NCCL_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_", "GLOO_", "CUDA_",
                                          "OMP_",  "MKL_NUM",     "OPENBLAS_NUM"};
  std::string lines;
  const auto tells = [&](const std::string& name) {
    return std::any_of(std::begin(kStarts), std::end(kStarts),
                       [&](auto start) { return name.starts_with(start); });
  };
  for (const auto& [name, value] : users)
    if (tells(name) && value.find('\n') == std::string::npos) lines += fmt::format("{}={}\n", name, value);
  return lines;
}

}  // namespace gradwire
