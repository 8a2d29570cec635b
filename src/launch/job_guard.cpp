#include "launch/job_guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr char kAllIsWell = '.';

// What follows runs in a process forked from one of many threads, which never becomes another program: nothing may allocate.

// An environment may be long, so it is read in blocks, and what ends one is looked at again with the next.
bool holds(int file, std::string_view mark) {
  char block[8192];
  std::size_t kept = 0;
  for (;;) {
    const auto got = ::read(file, block + kept, sizeof block - kept);
    if (got <= 0) return false;
    const std::string_view seen(block, kept + static_cast<std::size_t>(got));
    if (seen.find(mark) != std::string_view::npos) return true;
    kept = std::min(seen.size(), mark.size() - 1);
    std::memmove(block, seen.data() + seen.size() - kept, kept);
  }
}

bool carries(int proc, const char* process, std::string_view mark) {
  char path[64] = {};
  fmt::format_to_n(path, sizeof path - 1, "{}/environ", process);
  const Fd environment(::openat(proc, path, O_RDONLY | O_CLOEXEC));
  return environment && holds(environment.get(), mark);
}

// Whether there were any.
bool kill_all_with(std::string_view mark) {
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(dirent64) char block[32768];
  bool any = false;
  for (;;) {
    const auto got = ::syscall(SYS_getdents64, proc.get(), block, sizeof block);
    if (got <= 0) return any;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(block + at);
      at += entry->d_reclen;
      const auto process = find_integer<pid_t>(entry->d_name);
      if (!process || !carries(proc.get(), entry->d_name, mark)) continue;
      ::kill(*process, SIGKILL);
      any = true;
    }
  }
}

// One that has just forked, or is becoming another program, may be missed at a look: nobody must be there at several.
void kill_stubbornly(std::string_view mark) {
  constexpr int kEnough = 5;
  for (int look = 0, nobody = 0; look < 500 && nobody < kEnough; ++look) {
    nobody = kill_all_with(mark) ? 0 : nobody + 1;
    if (nobody < kEnough) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void close_from(unsigned first) {
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  for (long descriptor = first; descriptor < ::sysconf(_SC_OPEN_MAX); ++descriptor)
    ::close(static_cast<int>(descriptor));
}

// Others' ends of what the launcher holds open must see it closing when that is gone: so only one descriptor is kept. In a
// session of its own, so that neither Ctrl-C nor the end of a terminal reaches it.
[[noreturn]] void keep_watch(std::string_view mark, int alive) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(number, SIG_IGN);
  ::dup2(alive, STDIN_FILENO);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  close_from(STDERR_FILENO + 1);
  char word = 0;
  while (::read(STDIN_FILENO, &word, 1) < 0 && errno == EINTR) {
  }
  if (word != kAllIsWell) kill_stubbornly(mark);
  ::_exit(0);
}

}  // namespace

JobGuard::JobGuard(const std::string& mark) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_system_error("socketpair");
  const Fd watched(ends[0]);
  alive_ = Fd(ends[1]);
  guard_ = ::fork();
  if (guard_ < 0) throw_system_error("fork");
  if (guard_ == 0) keep_watch(mark, watched.get());
}

JobGuard::~JobGuard() {
  [[maybe_unused]] const auto said = ::send(alive_.get(), &kAllIsWell, 1, MSG_NOSIGNAL);
  alive_.reset();
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace gradwire
