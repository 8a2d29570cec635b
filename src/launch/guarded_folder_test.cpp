#include "launch/guarded_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "base/deadline.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

TEST(GuardedFolder, is_gone_with_its_owner) {
  fs::path path;
  {
    const GuardedFolder folder;
    path = folder.path();
    fs::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "file") << "left lying about";
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

// The owner tells where the folder is, and waits to be killed.
TEST(GuardedFolder, is_gone_when_its_owner_is_killed) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const GuardedFolder folder;
    std::ofstream(folder.path() / "file") << "left lying about";
    const std::string text = folder.path().string();
    if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  std::string path(256, '\0');
  const auto length = ::read(ends[0], path.data(), path.size());
  ASSERT_GT(length, 0);
  path.resize(static_cast<std::size_t>(length));
  EXPECT_TRUE(fs::exists(path));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  const auto deadline = Deadline::after(60);
  while (fs::exists(path) && !deadline.passed()) ::usleep(1000);
  EXPECT_FALSE(fs::exists(path));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace gradwire
