// Mutations of what every reader reads: none may crash it, make it throw anything but a ConfigError, keep it for longer than two
// seconds or make it take 500 MB. By the same seed the same every time. Built with the address sanitizer it means most:
//
//   cmake --preset asan && cmake --build build/asan --target mutate_readers && build/asan/mutate_readers --count 20000
//   build/asan/mutate_readers --reader xml --first 812 --count 1 --show     one of them again
//
// Every reader has a process of its own, so that its memory is known and one that crashes ends nobody else.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "fuzz/mutation.h"
#include "fuzz/readers.h"

// The sanitizer keeps what was freed for a while, which would count.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=16:hard_rss_limit_mb=500:max_allocation_size_mb=500:detect_leaks=0";
}

namespace {

using namespace gradwire;

constexpr int kLongestSeconds = 2, kMostMegabytes = 500;

struct MutateOptions {
  std::uint64_t seed = 1;
  int first = 0, count = 20'000;
  std::string reader = {};
  bool show = false;
};

// Of the process of a reader, seen by the one that started it.
struct Progress {
  volatile int at = -1;
  int refused = 0;
};

// Processor time, for the machine may be busy; and a wait that does not end.
void limit_time(int seconds) {
  const itimerval processor{{0, 0}, {seconds, 0}}, waiting{{0, 0}, {10 * seconds, 0}};
  ::setitimer(ITIMER_PROF, &processor, nullptr);
  ::setitimer(ITIMER_REAL, &waiting, nullptr);
}

void check_samples(const Reader& reader) {
  for (const auto& sample : reader.samples) reader.read(sample);
}

void try_mutation(const Reader& reader, const MutateOptions& options, int number, Progress& progress) {
  const auto seed = options.seed * 1'000'003 + static_cast<std::uint64_t>(number);
  const auto text = mutated(reader.samples[static_cast<std::size_t>(number) % reader.samples.size()], seed);
  if (options.show) fmt::print("{}\n", printable(text, Lines::keep));
  progress.at = number;
  limit_time(kLongestSeconds);
  try {
    reader.read(text);
  } catch (const ConfigError& error) {
    ++progress.refused;
    if (options.show) fmt::print("refused: {}\n", error.what());
  }
}

[[noreturn]] void run_reader(const Reader& reader, const MutateOptions& options, Progress& progress) {
  int code = 0;
  try {
    check_samples(reader);
    for (int number = options.first; number < options.first + options.count; ++number)
      try_mutation(reader, options, number, progress);
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", progress.at < 0 ? "an undamaged sample was refused" : "it threw", error.what());
    code = 1;
  }
  std::fflush(stdout);
  ::_exit(code);
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM))
    return fmt::format("took longer than {} s", kLongestSeconds);
  if (WIFSIGNALED(status)) return "was ended by " + describe_signal(WTERMSIG(status));
  return fmt::format("ended with code {}", WEXITSTATUS(status));
}

// Whether all went well.
bool look_after(const Reader& reader, const MutateOptions& options) {
  void* const shared =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw_system_error("mmap");
  auto& progress = *new (shared) Progress;
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw_system_error("fork");
  if (child == 0) run_reader(reader, options, progress);
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  const long megabytes = used.ru_maxrss / 1024;
  const bool well = status == 0 && megabytes < kMostMegabytes;
  fmt::print("{:20} {:6} mutations, {:6} refused, {:4} MB\n", reader.name, options.count, progress.refused,
             megabytes);
  if (!well)
    fmt::print("{:20} FAILED: {}; again: --seed {} --reader {} --first {} --count 1 --show\n", reader.name,
               describe_status(status), options.seed, reader.name, progress.at);
  ::munmap(shared, sizeof(Progress));
  return well;
}

int mutate_all(const MutateOptions& options) {
  std::vector<Reader> readers;
  for (auto& reader : all_readers())
    if (options.reader.empty() || reader.name == options.reader) readers.push_back(std::move(reader));
  if (readers.empty()) throw ConfigError(fmt::format("there is no reader '{}'", options.reader));
  MutateOptions each = options;
  const int among = static_cast<int>(readers.size());
  each.count = (options.count + among - 1) / among;
  int failed = 0;
  for (const auto& reader : readers) failed += look_after(reader, each) ? 0 : 1;
  fmt::print("{} mutations over {} readers: {} failed\n", each.count * among, among, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MutateOptions options;
  CLI::App app("Mutates what every reader reads, and sees what becomes of it.");
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--count", options.count, "of mutations in all")->capture_default_str();
  app.add_option("--first", options.first, "number of the first");
  app.add_option("--reader", options.reader, "this one alone");
  app.add_flag("--show", options.show, "print each");
  CLI11_PARSE(app, argc, argv);
  try {
    return mutate_all(options);
  } catch (const Error& error) {
    fmt::print(stderr, "mutate_readers: {}\n", error.what());
    return 2;
  }
}
