#include "watch/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "base/files.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Watching : public testing::Test {
 protected:
  WatchedRun run(const std::string& script) {
    WatchOptions options;
    options.command = {"sh", "-c", script};
    options.folder = folder_.path() / "seen";
    return watch(options, process_environment());
  }
  std::string left(const char* file) { return read_file(folder_.path() / "seen" / file); }

  TempDir folder_;
};

TEST_F(Watching, gives_the_exit_code_of_the_program) { EXPECT_EQ(run("exit 7").exit_code, 7); }

TEST_F(Watching, gives_the_signal_that_killed_the_program_as_shells_do) {
  const auto seen = run("kill -KILL $$");
  EXPECT_EQ(seen.exit_code, 128 + SIGKILL);
  EXPECT_EQ(seen.end, "was killed by SIGKILL");
}

TEST_F(Watching, shows_the_program_its_hook_and_takes_it_away_afterwards) {
  run("cp \"${PYTHONPATH%%:*}/sitecustomize.py\" \"$GRADWIRE_WATCH_DIR/copy\"");
  EXPECT_THAT(left("copy"), HasSubstr("gradwire_hook"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "seen" / "hook"));
}

TEST_F(Watching, leaves_the_program_in_the_group_of_the_terminal) {
  run("ps -o pgid= -p $$ > \"$GRADWIRE_WATCH_DIR/group\" || cut -d' ' -f5 /proc/$$/stat > "
      "\"$GRADWIRE_WATCH_DIR/group\"");
  EXPECT_EQ(std::stoi(left("group")), ::getpgrp());
}

TEST_F(Watching, passes_signals_on_that_were_sent_to_itself) {
  const pid_t self = ::getpid();
  const auto seen = run("trap 'exit 42' TERM; kill -TERM " + std::to_string(self) +
                        "; i=0; while [ $i -lt 500 ]; do sleep 0.02; i=$((i + 1)); done");
  EXPECT_EQ(seen.exit_code, 42);
}

TEST_F(Watching, blocks_no_signal_in_the_program) {
  run("grep SigBlk /proc/self/status > \"$GRADWIRE_WATCH_DIR/mask\"");
  EXPECT_THAT(left("mask"), HasSubstr("0000000000000000"));
}

TEST_F(Watching, refuses_a_folder_with_files_of_another_run) {
  run("true");
  write_file(folder_.path() / "seen" / "trace_rank0.json", "[]");
  EXPECT_THROW(run("true"), ConfigError);
}

TEST_F(Watching, says_which_program_can_not_be_started) {
  WatchOptions options;
  options.command = {"no-such-program-here"};
  options.folder = folder_.path() / "seen";
  try {
    watch(options, process_environment());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), StartsWith("can't start 'no-such-program-here'"));
  }
}

}  // namespace
}  // namespace gradwire
