// gradwire-train OPTIONS: a rank of `gradwire train`, started by it with the options as JSON. Exit codes as
// there.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/deadline.h"
#include "base/disk_fault.h"
#include "base/error.h"
#include "base/say.h"
#include "cli/progress.h"
#include "net/rendezvous/rendezvous.h"
#include "report/page/page_file.h"
#include "report/render.h"
#include "report/train.h"
#include "train/compute_check.h"
#include "train/job/agreement.h"
#include "train/job/options.h"
#include "train/job/restart.h"
#include "train/job/trainer.h"
#include "train/loop/checkpoint.h"

namespace gradwire {
namespace {

// SIGINT, SIGTERM and SIGHUP end the training after a step, the same on all ranks, with everything written.
// When a rank has died and the launcher ends the others by SIGTERM, the step fails by itself, so that each can
// say whom it missed.
volatile std::sig_atomic_t told_to_end = 0;
void note_signal(int number) { told_to_end = number; }

// One that is ignored stays ignored: that is how nohup works.
void listen_to(int number) {
  if (std::signal(number, note_signal) == SIG_IGN) std::signal(number, SIG_IGN);
}

// Who reads may have gone (a pipe into head): the training goes on, it may have a checkpoint to write. A disk that is full
// is a failure.
void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0 || errno == EPIPE) return;
  if (is_fault_of_disk(errno))
    throw FileError(fmt::format("writing the output: {}", std::generic_category().message(errno)));
  throw_system_error("writing the output");
}

// Progress on rank 0: a bar where there is a terminal, else a line now and then.
class Display {
 public:
  Display(const TrainOptions& options, const World& world)
      : options_(options), world_(world), speaks_(world.rank == 0 && !options.json), bar_(speaks_) {}

  void begin(const TrainResult& result) {
    if (!speaks_) return;
    print(to_text(run_report(options_, result)) + "\n");
  }

  void step(int step, double loss, Seconds time) {
    if (!speaks_) return;
    const auto text = step_line(options_, {.ranks = world_.size, .step = step, .loss = loss, .time = time});
    bar_.show((step + 1.0) / options_.steps, text);
    const int every = std::max(1, options_.steps / 10);
    if (bar_.visible() || ((step + 1) % every != 0 && step != 0)) return;
    print(fmt::format("{}\n", text));
  }

  void end(const TrainResult& result) {
    bar_.clear();
    const Report report = train_report(options_, result);
    if (!options_.json && !bar_.visible()) print("\n");
    print(options_.json ? to_json(report) : to_text(report));
  }

 private:
  const TrainOptions& options_;
  const World& world_;
  const bool speaks_;
  ProgressBar bar_;
};

// Rank 0 alone has written checkpoints for sure, so its disk counts.
Beginning agree_on_beginning(const World& world, const TrainOptions& options) {
  const int restarts = restarts_so_far();
  if (restarts == 0 && options.resume.empty()) return {};
  const std::string key = "train/beginning";
  Beginning beginning;
  if (world.rank == 0) {
    beginning = find_beginning(options, restarts, find_fault);
    world.store->set(key, fmt::format("{}\n{}", name_of(beginning.kind), beginning.resume));
  }
  const auto told = get_from(*world.store, 0, key, Deadline::after(world.timeout));
  beginning.kind = find_enumerator<BeginningKind>(told.substr(0, told.find('\n'))).value();
  beginning.resume = told.substr(told.find('\n') + 1);
  return beginning;
}

// A job that was started again after its last step was saved has nothing left to do, which is no mistake.
void check_steps_left(const TrainOptions& options, const Beginning& beginning, int first_step) {
  if (first_step < options.steps || beginning.kind == BeginningKind::resuming) return;
  throw ConfigError(fmt::format("--resume {}: it is of step {} already, and --steps is {}", options.resume,
                                first_step, options.steps));
}

void complain(const std::string& text) { say("gradwire train", text); }

// What is left to do when all is learnt. A disk that has no room for one file keeps nobody from the others, nor from the
// report: the first failure counts in the end.
class Failures {
 public:
  template <typename Chore>
  bool attempt(const Chore& chore) {  // whether it went well
    try {
      chore();
      return true;
    } catch (const FileError& error) {
      keep(error.what(), Kind::of_disk);
    } catch (const ConfigError& error) {
      keep(error.what(), Kind::of_input);
    }
    return false;
  }
  bool of_disk() const { return kind_ == Kind::of_disk; }

  void rethrow() const {
    if (kind_ == Kind::of_disk) throw FileError(text_);
    if (kind_ == Kind::of_input) throw ConfigError(text_);
  }

  // Says what it was. Returns the exit code of a rank for which nothing else is left to do: 0 where nothing failed.
  int say() const {
    if (kind_ == Kind::none) return 0;
    complain(text_);
    return kind_ == Kind::of_disk ? code_of_unwritten() : 2;
  }

 private:
  enum class Kind : std::uint8_t { none, of_disk, of_input };
  void keep(const char* text, Kind kind) {
    if (kind_ == Kind::none) text_ = text, kind_ = kind;
  }

  std::string text_;
  Kind kind_ = Kind::none;
};

// All that rank 0 writes and says of a run that is over.
struct Telling {
  const TrainOptions& options;
  Display& display;
  Failures& failures;
};
void tell(const World& world, const Trainer& trainer, TrainResult& result, const Telling& to) {
  if (world.rank != 0) return;
  const TrainOptions& options = to.options;
  const bool trained = !result.losses.empty();
  if (!options.trace.empty() && trained)
    result.traced = to.failures.attempt([&] { write_timeline(options.trace, trainer.timeline()); });
  if (trainer.left_out() > 0)
    complain(fmt::format("{} checkpoints were left out: the one before was still being written",
                         trainer.left_out()));
  to.failures.attempt([&] { to.display.end(result); });
  if (options.html.empty() || !trained) return;
  to.failures.attempt([&] {
    write_page(options.html, train_page(options, result, trainer.timeline()));
    say(fmt::format("wrote {}: open it in a browser", options.html));
  });
}

// All ranks fail where the last checkpoint could not be written, and mpirun ends them all with the first: so the others stay
// until rank 0 has told what was learnt.
void await_telling(const World& world) {
  const std::string key = "train/told";
  try {
    if (world.rank == 0)
      world.store->set(key, "all");
    else
      get_from(*world.store, 0, key, Deadline::after(world.timeout));
  } catch (const std::exception&) {  // who would tell is gone
  }
}

// What comes after the last step. Returns the exit code. A run that could not be saved is started again where that may be, and
// tells the next time.
int conclude(const World& world, Trainer& trainer, TrainResult& result, const Telling& to) {
  Failures& failures = to.failures;
  result.saved = failures.attempt([&] { trainer.save_last(result); });
  if (failures.of_disk() && restarts_so_far() < to.options.max_restarts) failures.rethrow();
  tell(world, trainer, result, to);
  if (!result.saved) {
    await_telling(world);
    failures.rethrow();
  }
  const int unwritten = failures.say();
  const bool done = unwritten == 0 && result.interrupted_by == 0;
  leave(world, done ? Leaving::done : Leaving::unfinished);
  return result.interrupted_by == 0 ? unwritten : 128 + result.interrupted_by;
}

// Returns the exit code.
int train(const World& world, TrainOptions options) {
  agree_on_options(world, options);
  const Beginning beginning = agree_on_beginning(world, options);
  options.resume = beginning.resume;
  Display display(options, world);
  Trainer trainer(world, options);
  check_steps_left(options, beginning, trainer.describe().first_step);
  if (world.rank == 0 && beginning.kind != BeginningKind::as_asked)
    complain(fmt::format("{} from step {}: {}", name_of(beginning.kind), trainer.describe().first_step,
                         beginning.why));
  const bool bfloat16_here = options.precision == Precision::bf16 && trainer.on_processor();
  if (world.rank == 0 && bfloat16_here && !multiplies_bfloat16_fast())
    complain(
        "bfloat16 matrices are multiplied quickly by processors with AVX-512, which this one has not: steps "
        "take "
        "many times as long as in fp32");
  display.begin(trainer.describe());
  TrainResult result =
      trainer.train({.on_step = [&](int step, double loss, Seconds time) { display.step(step, loss, time); },
                     .asked_to_end = [] { return static_cast<int>(told_to_end); }});
  Failures failures;
  return conclude(world, trainer, result, {options, display, failures});
}

// What all ranks have to say is said once.
bool first_to_say(const World& world, const std::string& text) {
  try {
    return world.store->add("train/said/" + text, 1) == 1;
  } catch (const std::exception&) {
    return true;
  }
}

// All ranks find what is wrong with what they were given, but not at one moment: who went at once would be lost to those that
// are still in a call. Where the others do not find it, a second later is soon enough.
void await_others(const World& world) {
  const Deadline patience = Deadline::after(1);
  try {
    auto here = world.store->add("train/gave up", 1, patience);
    while (here < world.size && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      here = world.store->add("train/gave up", 0, patience);
    }
  } catch (const std::exception&) {  // the store is gone, and with it whoever might have waited
  }
}

// Who waited in vain for others says which rank it is, as it does later.
World join_others() {
  try {
    return join("env://");
  } catch (const TransportError& error) {
    throw Error(fmt::format("rank {}: {}", read_placement(process_environment()).rank, error.what()));
  }
}

int run_rank(const char* json) {
  const World world = join_others();
  try {
    return train(world, from_argument(json));
  } catch (const ConfigError& error) {
    if (first_to_say(world, error.what())) complain(error.what());
    await_others(world);
    return 2;
  } catch (const FileError& error) {
    if (first_to_say(world, error.what())) complain(error.what());
    await_others(world);
    return 1;
  } catch (const c10::Error& error) {  // without the frames it would print
    complain(fmt::format("rank {}: {}", world.rank, error.what_without_backtrace()));
    return 1;
  } catch (const std::exception& error) {
    complain(fmt::format("rank {}: {}", world.rank, error.what()));
    return 1;
  }
}

}  // namespace
}  // namespace gradwire

int main(int argc, char** argv) {
  gradwire::fill_standard_descriptors();
  if (argc != 2) {
    gradwire::say("gradwire-train is started by `gradwire train`; see `gradwire train --help`");
    return 2;
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) gradwire::listen_to(number);
  for (const int number : {SIGPIPE, SIGXFSZ})
    std::signal(number, SIG_IGN);  // writing fails instead, and is said
  try {
    return gradwire::run_rank(argv[1]);
  } catch (const std::exception& error) {
    gradwire::complain(error.what());
    return 1;
  }
}
