#include "base/say.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

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
