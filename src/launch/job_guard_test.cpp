#include "launch/job_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include "base/secret.h"
#include "launch/program.h"
#include "support/has_ended.h"

namespace gradwire {
namespace {

// The owner of a guard, in a process of its own. It starts a program with the mark, which starts another and tells its number.
class Owner {
 public:
  Owner() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd said(ends[0]), tell(ends[1]);
    owner_ = ::fork();
    if (owner_ == 0) own(tell.get());
    std::string text(32, '\0');
    EXPECT_GT(::read(said.get(), text.data(), text.size()), 0);
    far_ = std::stoi(text);
  }
  ~Owner() {
    ::kill(owner_, SIGKILL);
    ::waitpid(owner_, nullptr, 0);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void kill() const { ::kill(owner_, SIGKILL); }
  pid_t far() const { return far_; }

 private:
  [[noreturn]] static void own(int tell) {
    const std::string mark = make_secret().substr(0, 16);
    const JobGuard guard(mark);
    const Environment environment = {{"MARK", mark}, {"PATH", "/usr/bin:/bin"}};
    const auto program =
        start({{"sh", "-c", "setsid sleep 1000 & echo $!; wait; true"}, environment, tell, tell});
    for (;;) ::pause();
  }

  pid_t owner_ = -1, far_ = -1;
};

TEST(JobGuard, ends_a_job_whose_owner_is_killed) {
  const Owner owner;
  owner.kill();
  EXPECT_TRUE(has_ended(owner.far()));
}

TEST(JobGuard, ends_nobody_when_it_goes) {
  const std::string mark = make_secret().substr(0, 16);
  std::optional<JobGuard> guard(mark);
  auto program = start({{"sleep", "1000"}, {{"MARK", mark}, {"PATH", "/usr/bin:/bin"}}});
  guard.reset();
  EXPECT_FALSE(program.find_status());
}

}  // namespace
}  // namespace gradwire
