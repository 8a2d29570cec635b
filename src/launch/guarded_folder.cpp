#include "launch/guarded_folder.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/error.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

fs::path make_folder() {
  std::error_code ignored;
  const fs::path memory = "/dev/shm";
  const bool fit = fs::is_directory(memory, ignored) && ::access(memory.c_str(), W_OK) == 0;
  std::string name = ((fit ? memory : fs::temp_directory_path()) / "gradwire-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw_system_error("mkdtemp");
  return name;
}

constexpr char kAllHaveEnded = '.';

// Programs of the job may still be at it when their launcher is killed: they end a moment later, and may make the folder
// anew until then. So it has to stay away for a while, unless they are known to have ended.
void remove_stubbornly(const fs::path& folder, bool all_have_ended) {
  const int enough = all_have_ended ? 1 : 15;
  std::error_code problem;
  for (int attempt = 0, away = 0; attempt < 200 && away < enough; ++attempt) {
    fs::remove_all(folder, problem);
    away = fs::exists(folder, problem) ? 0 : away + 1;
    if (away < enough) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// In a session of its own, so that neither Ctrl-C nor the end of a terminal reaches it.
[[noreturn]] void guard(const fs::path& folder, int alive) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(number, SIG_IGN);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  char word = 0;
  while (::read(alive, &word, 1) < 0 && errno == EINTR) {
  }
  remove_stubbornly(folder, word == kAllHaveEnded);
  ::_exit(0);
}

}  // namespace

GuardedFolder::GuardedFolder() : path_(make_folder()) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_system_error("socketpair");
  const Fd watched(ends[0]);
  alive_ = Fd(ends[1]);
  guard_ = ::fork();
  if (guard_ < 0) {
    const int error = errno;
    remove_stubbornly(path_, true);
    errno = error;
    throw_system_error("fork");
  }
  if (guard_ > 0) return;
  alive_.reset();
  guard(path_, watched.get());
}

GuardedFolder::~GuardedFolder() {
  [[maybe_unused]] const auto said = ::send(alive_.get(), &kAllHaveEnded, 1, MSG_NOSIGNAL);
  alive_.reset();
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace gradwire
