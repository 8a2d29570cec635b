#include "base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/deadline.h"
#include "base/error.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

std::string uniform(std::size_t size, char letter) { return std::string(size, letter); }

bool is_whole(const std::string& content) {
  return content.find_first_not_of(content.empty() ? ' ' : content[0]) == std::string::npos;
}

TEST(Files, are_written_from_parts) {
  const TempDir directory;
  const std::string_view parts[] = {"one ", "", "two"};
  write_file_parts(directory.path() / "f", parts);
  EXPECT_EQ(read_file(directory.path() / "f"), "one two");
}

TEST(WriteFile, is_read_back_byte_for_byte) {
  const TempDir directory;
  std::string content = "line\n";
  for (int i = 0; i < 200000; ++i) content += static_cast<char>(i * 31);
  write_file(directory.path() / "file", content);
  EXPECT_EQ(read_file(directory.path() / "file"), content);
  write_file(directory.path() / "file", "");
  EXPECT_EQ(read_file(directory.path() / "file"), "");
}

TEST(WriteFile, gives_the_file_the_mode_asked_for) {
  const TempDir directory;
  const auto path = directory.path() / "secret";
  write_file(path, "x", 0600);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(WriteFile, takes_from_the_mode_what_the_umask_says) {
  const TempDir directory;
  for (const auto& [mask, left] : {std::pair{027, 0640U}, std::pair{002, 0664U}}) {
    const auto path = directory.path() / std::to_string(mask);
    const mode_t before = ::umask(static_cast<mode_t>(mask));
    write_file(path, "x");
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, left);
  }
}

TEST(WriteFile, leaves_a_file_as_closed_or_open_as_it_was) {
  const TempDir directory;
  const auto path = directory.path() / "file";
  for (const mode_t mode : {0600, 0664}) {
    write_file(path, "x");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    write_file(path, "y");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
    write_file(path, "secret", 0600);
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
}

TEST(WriteFile, on_a_full_disk_is_no_mistake_of_the_caller) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const TempDir directory;
  struct rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write_file(directory.path() / "file", uniform(2000, 'a')), FileError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(WriteFile, removes_what_a_killed_writer_left_and_nothing_else) {
  const TempDir directory;
  const auto path = directory.path() / "file";
  write_file(path.string() + ".writing-0123abcd", "left behind");
  write_file(path.string() + ".writing-it-down", "somebody's own");
  write_file(path.string() + ".backup", "somebody's own");
  FileDraft another(path);
  write_file(path, "new");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".writing-0123abcd"));
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".writing-it-down"));
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".backup"));
  another.write("newer");
  another.commit();
  EXPECT_EQ(read_file(path), "newer");
}

TEST(WriteFile, leaves_nothing_but_the_file) {
  const TempDir directory;
  write_file(directory.path() / "file", "one");
  write_file(directory.path() / "file", "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(WriteFile, leaves_nothing_when_it_fails) {
  const TempDir directory;
  std::filesystem::create_directories(directory.path() / "taken" / "inside");
  EXPECT_THROW(write_file(directory.path() / "taken", "x"), ConfigError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(WriteFile, is_never_seen_half_done_by_a_reader) {
  const TempDir directory;
  const auto path = directory.path() / "file";
  write_file(path, uniform(300000, 'a'));
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 0; i < 100; ++i) write_file(path, uniform(300000, static_cast<char>('a' + i % 26)));
    done = true;
  });
  int whole = 0, reads = 0;
  while (!done) {
    const std::string content = read_file(path);
    whole += content.size() == 300000 && is_whole(content);
    ++reads;
  }
  EXPECT_EQ(whole, reads);
}

TEST(WriteFile, leaves_the_old_file_or_the_new_one_when_the_writer_is_killed) {
  const TempDir directory;
  const auto path = directory.path() / "file";
  for (int round = 0; round < 20; ++round) {
    write_file(path, uniform(1000000, 'a'));
    int started[2];
    ASSERT_EQ(::pipe(started), 0);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      if (::write(started[1], "x", 1) != 1) ::_exit(1);
      for (char letter = 'b';; letter = letter == 'z' ? 'b' : static_cast<char>(letter + 1))
        write_file(path, uniform(1000000, letter));
    }
    char byte = 0;
    ASSERT_EQ(::read(started[0], &byte, 1), 1);
    ::close(started[0]);
    ::close(started[1]);
    // Somewhere in the middle of some write: a little later each time.
    const Deadline later = Deadline::after(0.0003 * round);
    while (!later.passed()) std::this_thread::yield();
    ::kill(writer, SIGKILL);
    ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
    const std::string content = read_file(path);
    EXPECT_EQ(content.size(), 1000000u);
    EXPECT_TRUE(is_whole(content));
  }
}

TEST(Files, are_not_lost_to_who_cleans_up_beside_them) {
  const TempDir directory;
  const auto path = directory.path() / "file";
  std::atomic<bool> over = false;
  std::jthread cleaner([&] {
    while (!over) remove_abandoned_drafts(path);
  });
  for (int round = 0; round < 300; ++round) write_file(path, "text");
  over = true;
}

TEST(TempDir, is_private_and_disappears_with_everything_in_it) {
  std::filesystem::path path;
  {
    const TempDir directory;
    path = directory.path();
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    std::filesystem::create_directories(path / "a" / "b");
    write_file(path / "a" / "b" / "file", "x");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// As names that a list has by then.
TEST(Files, that_are_wanted_by_the_time_they_are_held_are_not_removed) {
  const TempDir directory;
  const auto path = directory.path() / "file";
  write_file(path, "text");
  int asked = 0;
  remove_abandoned(path, [&](const std::string&) { return ++asked == 1; });
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Files, are_written_where_a_link_to_nothing_leads) {
  const TempDir directory;
  const auto link = directory.path() / "link", circle = directory.path() / "circle";
  std::filesystem::create_symlink("target", link);
  write_file(link, "new");
  EXPECT_TRUE(is_symlink(link));
  EXPECT_EQ(read_file(directory.path() / "target"), "new");
  std::filesystem::create_symlink("circle", circle);
  EXPECT_THROW(write_file(circle, "new"), ConfigError);
}

TEST(Files, are_written_where_a_link_leads) {
  const TempDir directory;
  const auto file = directory.path() / "file", link = directory.path() / "link";
  write_file(file, "old");
  std::filesystem::create_symlink(file, link);
  write_file(link, "new");
  EXPECT_TRUE(is_symlink(link));
  EXPECT_EQ(read_file(file), "new");
}

TEST(Files, do_not_replace_devices_and_pipes) {
  const TempDir directory;
  const auto pipe = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(write_file(pipe, "text"), ConfigError);
  EXPECT_TRUE(is_fifo(pipe));
}

}  // namespace
}  // namespace gradwire
