#include "launch/foreground.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/error.h"
#include "base/fd.h"

namespace gradwire {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

// Blocks the signals that are passed on, and the child's end; those this process ignores stay ignored.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&held_);
    ::sigaddset(&held_, SIGCHLD);
    for (const int signal : kPassedOn) ::sigaddset(&held_, signal);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& before() const { return before_; }
  const sigset_t& held() const { return held_; }

 private:
  sigset_t held_, before_;
};

struct SpawnSettings {
  SpawnSettings() {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&files);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
};

std::vector<char*> borrowed_pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t spawn_with(const ForegroundProgram& program, const sigset_t& mask) {
  if (program.command.empty()) throw ConfigError("no program to start is given");
  std::vector<std::string> words = program.command, variables;
  for (const auto& [name, value] : program.environment) variables.push_back(name + "=" + value);
  SpawnSettings settings;
  ::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&settings.attributes, &mask);
  if (program.output_to_error)
    ::posix_spawn_file_actions_adddup2(&settings.files, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, words[0].c_str(), &settings.files, &settings.attributes,
                                   borrowed_pointers(words).data(), borrowed_pointers(variables).data());
  if (error != 0)
    throw ConfigError(
        fmt::format("can't start '{}': {}", program.command[0], std::generic_category().message(error)));
  return child;
}

// A terminal sends to the group, which the child is in; anybody else meant this process.
bool is_from_terminal(const signalfd_siginfo& info) { return info.ssi_code == SI_KERNEL; }

std::optional<int> find_end(pid_t child) {
  int status = 0;
  const pid_t ended = ::waitpid(child, &status, WNOHANG);
  if (ended < 0 && errno != EINTR) throw_system_error("waitpid");
  return ended == child ? std::optional(status) : std::nullopt;
}

}  // namespace

int run_in_foreground(const ForegroundProgram& program) {
  const HeldSignals signals;
  const Fd arrivals(::signalfd(-1, &signals.held(), SFD_CLOEXEC));
  if (!arrivals) throw_system_error("signalfd");
  const pid_t child = spawn_with(program, signals.before());
  while (true) {
    signalfd_siginfo info{};
    if (::read(arrivals.get(), &info, sizeof info) != sizeof info) {
      if (errno == EINTR) continue;
      throw_system_error("read");
    }
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      if (const auto status = find_end(child)) return *status;
    } else if (!is_from_terminal(info)) {
      ::kill(child, signal);
    }
  }
}

}  // namespace gradwire
