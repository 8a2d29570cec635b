// The main() of tests whose libraries take a second to load: they are loaded once, and each test runs in a process that is
// forked of that one, so that no test sees what another left. Tests that are chosen by --gtest_filter run as they always do.
// Of the environment GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX choose a part of them, what follows '-' in GTEST_FILTER is left
// out, and GRADWIRE_TEST_SECONDS is how long a test may take.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"
#include "base/fd.h"

namespace gradwire {
namespace {

int number_in_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

std::vector<std::string> tests_of_this_part() {
  const int parts = number_in_environment("GTEST_TOTAL_SHARDS", 1),
            part = number_in_environment("GTEST_SHARD_INDEX", 0);
  ::unsetenv("GTEST_TOTAL_SHARDS");  // a test is one, and what it runs is whole
  ::unsetenv("GTEST_SHARD_INDEX");
  std::vector<std::string> names;
  const auto& all = *testing::UnitTest::GetInstance();
  int index = 0;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j)
      if (index++ % parts == part)
        names.push_back(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
  }
  return names;
}

[[noreturn]] void run_here(const std::string& name, const std::string& left_out, const Fd& output) {
  ::setpgid(0, 0);                     // so that it can be ended with what it started
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // and ends with who waits for it
  ::dup2(output.get(), STDOUT_FILENO);
  ::dup2(output.get(), STDERR_FILENO);
  GTEST_FLAG_SET(filter, name + left_out);
  std::exit(RUN_ALL_TESTS());
}

// How it ended, as waitpid() says it; a test that takes too long is ended.
int wait_for(pid_t test) {
  const Fd descriptor(static_cast<int>(::syscall(SYS_pidfd_open, test, 0)));
  if (!descriptor) throw_system_error("pidfd_open");
  pollfd entry{descriptor.get(), POLLIN, 0};
  const auto deadline = Deadline::after(number_in_environment("GRADWIRE_TEST_SECONDS", 600));
  while (::poll(&entry, 1, deadline.remaining_ms()) < 0 && errno == EINTR) {
  }
  if (entry.revents == 0) ::kill(-test, SIGKILL);
  int status = 0;
  while (::waitpid(test, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string read_all(const Fd& output) {
  std::string text(static_cast<std::size_t>(::lseek(output.get(), 0, SEEK_END)), '\0');
  const auto bytes = ::pread(output.get(), text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

enum class End { passed, failed, left_out };

End end_of(int status, const std::string& said) {
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return End::failed;
  return said.find("Running 0 tests") != std::string::npos ? End::left_out : End::passed;
}

// Runs it in a process of its own; what it says is shown if it failed or was skipped.
End run(const std::string& name, const std::string& left_out) {
  const Fd output(::memfd_create("output of a test", MFD_CLOEXEC));
  if (!output) throw_system_error("memfd_create");
  const auto began = std::chrono::steady_clock::now();
  std::cout.flush();
  const pid_t test = ::fork();
  if (test < 0) throw_system_error("fork");
  if (test == 0) run_here(name, left_out, output);
  const int status = wait_for(test);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  const auto said = read_all(output);
  const End end = end_of(status, said);
  if (end == End::failed || said.find("[  SKIPPED ]") != std::string::npos) std::cout << said;
  std::cout << (end == End::passed   ? "passed "
                : end == End::failed ? "FAILED "
                                     : "left out ")
            << name << " (" << std::lround(took.count()) << " ms";
  if (WIFSIGNALED(status)) std::cout << ", ended by signal " << WTERMSIG(status);
  std::cout << ")\n";
  return end;
}

int run_each() {
  const std::string filter = GTEST_FLAG_GET(filter);
  const auto left_out = filter.substr(std::min(filter.find('-'), filter.size()));
  std::map<End, int> ends;
  for (const auto& name : tests_of_this_part()) ++ends[run(name, left_out)];
  std::cout << ends[End::passed] << " tests passed, " << ends[End::failed] << " failed, "
            << ends[End::left_out] << " left out" << std::endl;
  return ends[End::failed] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gradwire

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string filter = GTEST_FLAG_GET(filter);
  const bool all = filter.empty() || filter.front() == '-' || filter == "*" || filter.starts_with("*-");
  if (GTEST_FLAG_GET(list_tests) || !all) return RUN_ALL_TESTS();
  return gradwire::run_each();
}
