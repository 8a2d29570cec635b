#include "launch/lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace gradwire {
namespace {

struct Pipe {
  explicit Pipe(int flags) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, flags | O_CLOEXEC), 0);
    read_end = Fd(ends[0]);
    write_end = Fd(ends[1]);
  }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(write_end.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string read() const {
    std::array<char, 1 << 16> block;
    const auto got = ::read(read_end.get(), block.data(), block.size());
    return {block.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }
  Fd read_end, write_end;
};

class Lines : public testing::Test {
 protected:
  std::string written() {
    std::string all;
    for (; !sink_.empty(); all += target_.read()) sink_.write_some();
    return all;
  }

  Pipe target_{O_NONBLOCK}, from_zero_{O_NONBLOCK}, from_one_{O_NONBLOCK};
  LineSink sink_{target_.write_end.get(), false};
  LineSource zero_{std::move(from_zero_.read_end), 0, sink_}, one_{std::move(from_one_.read_end), 1, sink_};
};

TEST_F(Lines, come_out_whole_however_they_go_in) {
  from_zero_.write("one ");
  zero_.read_some();
  from_one_.write("first\nsec");
  one_.read_some();
  from_zero_.write("line\n\ntail");
  zero_.read_some();
  from_one_.write("ond\n");
  one_.read_some();
  EXPECT_EQ(written(), "[1] first\n[0] one line\n[0] \n[1] second\n");
}

TEST_F(Lines, a_last_line_without_an_end_is_not_lost) {
  from_zero_.write("tail");
  zero_.read_some();
  EXPECT_EQ(written(), "");
  from_zero_.write_end.reset();
  EXPECT_FALSE(zero_.read_some());
  EXPECT_FALSE(zero_.open());
  EXPECT_EQ(written(), "[0] tail\n");
}

TEST_F(Lines, an_endless_line_is_cut) {
  for (int i = 0; i < 5; ++i) {
    from_zero_.write(std::string(1 << 14, 'x'));
    zero_.read_some();
  }
  EXPECT_EQ(written(), "[0] " + std::string(1 << 16, 'x') + "\n");
}

TEST_F(Lines, wait_in_memory_while_nobody_reads_and_none_is_lost) {
  int lines = 0;
  for (; !sink_.full(); ++lines) {
    sink_.add(1, std::string(1000, 'y'));
    sink_.write_some();
  }
  EXPECT_EQ(written().size(), lines * 1005U);
}

TEST(LineSink, colours_the_rank_and_not_the_line) {
  const Pipe target(O_NONBLOCK);
  LineSink sink(target.write_end.get(), true);
  sink.add(0, "text");
  sink.write_some();
  EXPECT_EQ(target.read(), "\033[36m[0]\033[0m text\n");
}

TEST(WantsColour, is_for_terminals) {
  const Pipe pipe(0);
  EXPECT_FALSE(wants_colour(pipe.write_end.get()));
}

TEST(LineSink, says_that_a_disk_is_full) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  LineSink sink(full.get(), false);
  sink.add(0, "line");
  sink.write_some();
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(sink.problem(), "No space left on device");
}

TEST(LineSink, takes_everything_for_a_reader_that_is_gone) {
  Pipe target(0);
  target.read_end.reset();
  LineSink sink(target.write_end.get(), false);
  sink.add(0, "line");
  sink.write_some();
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(sink.problem(), "");
}

}  // namespace
}  // namespace gradwire
