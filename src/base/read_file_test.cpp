#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/deadline.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

TEST(ReadFile, names_the_path_and_the_reason_when_it_fails) {
  const TempDir directory;
  for (const auto& [path, reason] :
       {std::pair{directory.path() / "missing", "No such file"}, {directory.path(), "Is a directory"}}) {
    try {
      read_file(path);
      FAIL() << "nothing was thrown";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
      EXPECT_THAT(error.what(), HasSubstr(reason));
    }
  }
}

TEST(ReadFile, refuses_devices_and_files_that_are_too_large_and_gives_up_on_silent_pipes) {
  const TempDir directory;
  const auto reason = [](const std::filesystem::path& path, std::uint64_t most) -> std::string {
    try {
      read_file(path, most, 0.01);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(reason("/dev/zero", 100), HasSubstr("/dev/zero: it is a device"));
  write_file(directory.path() / "large", std::string(101, 'x'));
  EXPECT_THAT(reason(directory.path() / "large", 100), HasSubstr("more than the 100 B"));
  EXPECT_EQ(reason(directory.path() / "large", 101), "");
  const auto pipe = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(reason(pipe, 100), HasSubstr("a pipe into which nobody wrote"));
}

TEST(ReadFile, gives_up_on_a_pipe_that_drips) {
  const TempDir directory;
  const auto pipe = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Fd end(::open(pipe.c_str(), O_RDWR));  // which waits for no reader, and outlives it
  std::jthread writer([&](const std::stop_token& told) {
    while (!told.stop_requested() && ::write(end.get(), "x", 1) == 1)
      for (const auto later = Deadline::after(0.001); !later.passed();) std::this_thread::yield();
  });
  try {
    read_file(pipe, 1 << 20, 0.2);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a pipe into which only"));
  }
}

TEST(ReadFile, reads_a_pipe_to_its_end) {
  const TempDir directory;
  const auto pipe = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] {
    const int end = ::open(pipe.c_str(), O_WRONLY);
    const std::string text = std::string(200000, 'x');
    EXPECT_EQ(::write(end, text.data(), text.size()), 200000);
    ::close(end);
  });
  EXPECT_EQ(read_file(pipe), std::string(200000, 'x'));
}

}  // namespace
}  // namespace gradwire
