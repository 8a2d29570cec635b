#include "launch/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/files.h"
#include "base/secret.h"
#include "base/text.h"

namespace gradwire {
namespace {

// Processes come and go while one looks, so a file that can't be read says nothing.
std::string read_or_nothing(const std::filesystem::path& path) {
  try {
    return read_file(path);
  } catch (const ConfigError&) {
    return {};
  }
}

constexpr Seconds kPatience = 1;  // with a process that is becoming another program

struct Child {
  pid_t pid, group;
  bool ended;
};

// /proc/PID/stat goes on after the name, which is in parentheses and may hold anything, with the state, the
// parent and the group.
std::optional<Child> find_child(pid_t pid) {
  const auto stat = read_or_nothing(fmt::format("/proc/{}/stat", pid));
  const auto end = stat.rfind(") ");
  if (end == std::string::npos) return std::nullopt;
  const auto fields = split(std::string_view(stat).substr(end + 2), ' ');
  if (fields.size() < 3 || find_integer<pid_t>(fields[1]) != ::getpid()) return std::nullopt;
  return Child{pid, find_integer<pid_t>(fields[2]).value_or(-1), fields[0] == "Z"};
}

std::vector<Child> children_of_this_process() {
  std::vector<Child> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (const auto pid = find_integer<pid_t>(entry.path().filename().string()))
      if (const auto child = find_child(*pid)) children.push_back(*child);
  return children;
}

}  // namespace

OrphanKeeper::OrphanKeeper() : mark_(make_secret().substr(0, 16)) {
  guard_.emplace(mark_);
  if (::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_) != 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    throw_system_error("prctl");
}

OrphanKeeper::~OrphanKeeper() { ::prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_); }

void OrphanKeeper::mark(Environment& environment) const {
  std::string& marks = environment["GRADWIRE_JOB"];
  marks += marks.empty() ? mark_ : "." + mark_;
}

// The children of one that was killed come up as orphans themselves.
void OrphanKeeper::sweep(const std::vector<pid_t>& groups) {
  const Deadline patience = Deadline::after(kPatience);
  for (Swept swept = sweep_once(groups); swept != Swept::clean; swept = sweep_once(groups)) {
    if (swept == Swept::killed) continue;
    if (patience.passed()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  guard_.reset();
}

// For a moment of exec() a process has no environment to show, but its group; one that has ended has none either.
OrphanKeeper::Swept OrphanKeeper::sweep_once(const std::vector<pid_t>& groups) const {
  Swept swept = Swept::clean;
  for (const auto& [child, group, ended] : children_of_this_process()) {
    if (guard_ && child == guard_->pid()) continue;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) {
      const auto environment = read_or_nothing(fmt::format("/proc/{}/environ", child));
      if (environment.empty() && !ended && swept == Swept::clean) swept = Swept::unsure;
      if (environment.find(mark_) == std::string::npos) continue;
    }
    swept = Swept::killed;
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return swept;
}

}  // namespace gradwire
