#include "net/rendezvous/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/secret.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::size_t kShortest = 16;

// Two processes may come here at once: the link succeeds for one, and both then read what it made.
void make_cookie(const std::filesystem::path& path) {
  const auto draft = path.string() + "." + make_secret().substr(0, 16);
  write_file(draft, make_secret() + "\n", 0600);
  const bool linked = ::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST;
  const int error = errno;
  ::unlink(draft.c_str());
  errno = error;
  if (!linked) throw_system_error(fmt::format("can't make {}", path.string()));
}

}  // namespace

// One open file is looked at and read, so that it can't be swapped in between.
std::string read_private_file(const std::filesystem::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    throw ConfigError(
        fmt::format("can't read {}: {}", path.string(), std::generic_category().message(errno)));
  if (!S_ISREG(status.st_mode))
    throw ConfigError(
        fmt::format("can't read {}: it is no file; a secret that a program gives goes into "
                    "GRADWIRE_SECRET",
                    path.string()));
  if (status.st_uid != ::geteuid())
    throw ConfigError(fmt::format("{} belongs to another user and is not trusted", path.string()));
  if ((status.st_mode & 077) != 0)
    throw ConfigError(fmt::format("{} is open to other users and is not trusted: chmod 600 {}", path.string(),
                                  path.string()));
  char content[4096];
  const auto got = ::read(file.get(), content, sizeof content);
  if (got < 0) throw_system_error(fmt::format("read {}", path.string()));
  return std::string(trim({content, static_cast<std::size_t>(got)}));
}

void check_secret(const std::string& secret, const std::string& origin) {
  if (secret.size() < kShortest)
    throw ConfigError(fmt::format("{} has {} characters: a secret has {} or more, as {}", origin,
                                  secret.size(), kShortest, make_secret()));
}

std::string choose_secret(const Environment& environment, const std::string& job) {
  if (const auto secret = find_variable(environment, "GRADWIRE_SECRET")) {
    check_secret(*secret, "GRADWIRE_SECRET");
    return *secret;
  }
  const auto home = find_variable(environment, "HOME");
  if (!home)
    throw ConfigError(
        "neither GRADWIRE_SECRET nor HOME is set: set GRADWIRE_SECRET to the same on all ranks");
  const auto cookie = std::filesystem::path(*home) / ".gradwire-cookie";
  if (!std::filesystem::exists(cookie)) make_cookie(cookie);
  const auto secret = read_private_file(cookie);
  check_secret(secret, cookie.string());
  return job.empty() ? secret : secret + "/" + job;
}

}  // namespace gradwire
