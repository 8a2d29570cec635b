#include "launch/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <vector>

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

struct Child {
  pid_t pid, group;
};

// /proc/PID/stat goes on after the name, which is in parentheses and may hold anything, with the state, the
// parent and the group.
std::optional<Child> find_child(pid_t pid) {
  const auto stat = read_or_nothing(fmt::format("/proc/{}/stat", pid));
  const auto end = stat.rfind(") ");
  if (end == std::string::npos) return std::nullopt;
  const auto fields = split(std::string_view(stat).substr(end + 2), ' ');
  if (fields.size() < 3 || find_integer<pid_t>(fields[1]) != ::getpid()) return std::nullopt;
  return Child{pid, find_integer<pid_t>(fields[2]).value_or(-1)};
}

std::vector<Child> children_of_this_process() {
  std::vector<Child> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (const auto pid = find_integer<pid_t>(entry.path().filename().string()))
      if (const auto child = find_child(*pid)) children.push_back(*child);
  return children;
}

}  // namespace

OrphanKeeper::OrphanKeeper() : mark_("GRADWIRE_JOB", make_secret().substr(0, 16)) {
  if (::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_) != 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    throw_system_error("prctl");
}

OrphanKeeper::~OrphanKeeper() { ::prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_); }

// The children of one that was killed come up as orphans themselves.
void OrphanKeeper::sweep(const std::vector<pid_t>& groups) {
  while (sweep_once(groups)) {
  }
}

// One that has ended already shows its group, but its environment no more.
bool OrphanKeeper::is_ours(pid_t child, pid_t group, const std::vector<pid_t>& groups) const {
  if (std::find(groups.begin(), groups.end(), group) != groups.end()) return true;
  const auto environment = read_or_nothing(fmt::format("/proc/{}/environ", child));
  return environment.find(mark_.first + "=" + mark_.second) != std::string::npos;
}

bool OrphanKeeper::sweep_once(const std::vector<pid_t>& groups) const {
  bool found = false;
  for (const auto& [child, group] : children_of_this_process()) {
    if (!is_ours(child, group, groups)) continue;
    found = true;
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return found;
}

}  // namespace gradwire
