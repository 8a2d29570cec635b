#include "base/say.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/fd.h"

namespace gradwire {
namespace {

// While it lives, stderr goes elsewhere.
class Redirected {
 public:
  explicit Redirected(int to) : before_(::dup(STDERR_FILENO)) { ::dup2(to, STDERR_FILENO); }
  ~Redirected() { ::dup2(before_.get(), STDERR_FILENO); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  const Fd before_;
};

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
  }
  Fd read_end, write_end;
};

TEST(Say, writes_a_line_without_what_would_act_on_a_terminal) {
  const Pipe pipe;
  {
    const Redirected redirected(pipe.write_end.get());
    say("gradwire run", "a\033[2Jb\nc");
    say("alone");
  }
  char text[100];
  const auto got = ::read(pipe.read_end.get(), text, sizeof text);
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(got)), "gradwire run: a?[2Jb\nc\nalone\n");
}

// What came out of a terminal, with the line ends that a program writes.
std::string said_on_a_terminal(const std::string& text) {
  const Fd outside(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_EQ(::grantpt(outside.get()) | ::unlockpt(outside.get()), 0);
  const Fd inside(::open(::ptsname(outside.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  {
    const Redirected redirected(inside.get());
    say("gradwire", text);
  }
  char got[4096];
  const auto size = ::read(outside.get(), got, sizeof got);
  std::string all(got, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::erase(all, '\r');
  return all;
}

TEST(Say, fits_its_lines_to_a_terminal_and_leaves_those_to_copy_whole) {
  const std::string words = std::string(60, 'a') + " " + std::string(30, 'b');
  EXPECT_EQ(said_on_a_terminal(words + "\n  " + words),
            "gradwire: " + std::string(60, 'a') + "\n  " + std::string(30, 'b') + "\n  " + words + "\n");
  const std::string command = "`gradwire train " + std::string(70, 'a') + " --on this`";
  EXPECT_EQ(said_on_a_terminal("write " + command), "gradwire: write\n  " + command + "\n");
  EXPECT_EQ(said_on_a_terminal("short"), "gradwire: short\n");
}

TEST(Say, takes_no_dumb_terminal_for_one_that_obeys) {
  const Fd outside(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  const char* const before = std::getenv("TERM");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TERM", "xterm", 1);
  EXPECT_TRUE(obeys_controls(outside.get()));
  EXPECT_FALSE(obeys_controls(Pipe().read_end.get()));
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(obeys_controls(outside.get()));
  ::setenv("TERM", kept.c_str(), 1);
}

TEST(Say, fails_neither_on_a_full_disk_nor_without_a_reader_nor_where_nothing_is_open) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Pipe pipe;
  pipe.read_end.reset();
  for (const int to : {full.get(), pipe.write_end.get()}) {
    const Redirected redirected(to);
    say("gradwire", "text");
  }
  const Redirected redirected(STDERR_FILENO);
  ::close(STDERR_FILENO);
  say("gradwire", "text");
}

}  // namespace
}  // namespace gradwire
