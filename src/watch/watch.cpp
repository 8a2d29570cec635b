#include "watch/watch.h"

#include <fmt/format.h>

#include <chrono>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/text.h"
#include "launch/foreground.h"
#include "launch/outcome.h"
#include "watch/hook.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

// A run's own folder: what an earlier run left there would be taken for this one's.
fs::path ready_folder(const fs::path& wanted) {
  std::error_code error;
  fs::create_directories(wanted, error);
  if (error) throw ConfigError(fmt::format("{}: {}", wanted.string(), error.message()));
  if (!fs::is_empty(wanted, error))
    throw ConfigError(
        fmt::format("{} holds files already; give a folder that is new or empty", wanted.string()));
  return fs::absolute(wanted);
}

fs::path write_hook(const fs::path& folder) {
  const fs::path hook = folder / "hook";
  fs::create_directories(hook);
  for (const char* file : {"sitecustomize.py", "gradwire_hook.py"}) write_file(hook / file, hook_text(file));
  return hook;
}

std::string read_if_there(const fs::path& path) {
  try {
    return read_file(path);
  } catch (const ConfigError&) {
    return {};
  }
}

std::string nccl_settings(const Environment& users) {
  const auto home = find_variable(users, "HOME");
  return read_if_there("/etc/nccl.conf") + (home ? read_if_there(fs::path(*home) / ".nccl.conf") : "");
}

// A plugin under the name that NCCL looks for when nobody names one.
fs::path found_by_nccl(const Environment& users) {
  const auto listed = find_variable(users, "LD_LIBRARY_PATH").value_or("");
  std::error_code ignored;
  for (const auto folder : split(listed, ':'))
    if (const fs::path plugin = fs::path(folder) / "libnccl-profiler.so";
        !folder.empty() && fs::exists(plugin, ignored))
      return plugin;
  return {};
}

}  // namespace

WatchedRun watch(const WatchOptions& options, const Environment& users) {
  const fs::path folder = ready_folder(options.folder);
  const WatchPlaces places{.folder = folder,
                           .hook = write_hook(folder),
                           .nccl_profiler = find_module("nccl-profiler").value_or(""),
                           .users_profiler = found_by_nccl(users),
                           .nccl_settings = nccl_settings(users)};
  const WatchPlan plan = plan_watch(users, places, options.window);
  if (const auto variables = telling_variables(users); !variables.empty())
    write_file(folder / "environment.txt", variables);
  const auto began = std::chrono::steady_clock::now();
  const int status = run_in_foreground({options.command, plan.environment, options.output_to_error});
  const Seconds took = std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - began).count();
  fs::remove_all(places.hook);
  const Outcome outcome = outcome_of_process(0, status);
  return {exit_code_of(outcome), outcome.ok() ? "ended well" : describe_end(outcome), took, plan.left_alone};
}

}  // namespace gradwire
