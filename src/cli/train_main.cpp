// gradwire-train OPTIONS: a rank of `gradwire train`, started by it with the options as JSON. Exit codes as
// there.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/deadline.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/say.h"
#include "cli/progress.h"
#include "net/rendezvous/rendezvous.h"
#include "report/page/page_file.h"
#include "report/render.h"
#include "report/train.h"
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
  if (std::fflush(stdout) != 0 && errno != EPIPE) throw_system_error("writing the output");
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
    const double rate =
        options_.batch * options_.accumulate * world_.size / (options_.tp * options_.pp) / time;
    const auto text = fmt::format("step {} of {}  loss{} {:.4f}  {:.1f} samples/s", step + 1, options_.steps,
                                  options_.backend.is_none() ? " of rank 0" : "", loss, rate);
    bar_.show((step + 1.0) / options_.steps, text);
    const int every = std::max(1, options_.steps / 10);
    if (bar_.visible() || ((step + 1) % every != 0 && step != 0)) return;
    print(fmt::format("{}\n", text));
  }

  void end(const TrainResult& result) {
    bar_.clear();
    if (world_.rank != 0) return;
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
  display.begin(trainer.describe());
  const TrainResult result =
      trainer.train({.on_step = [&](int step, double loss, Seconds time) { display.step(step, loss, time); },
                     .asked_to_end = [] { return static_cast<int>(told_to_end); }});
  if (world.rank == 0 && !options.trace.empty() && !result.losses.empty())
    write_timeline(options.trace, trainer.timeline());
  if (world.rank == 0 && trainer.left_out() > 0)
    complain(fmt::format("{} checkpoints were left out: the one before was still being written",
                         trainer.left_out()));
  display.end(result);
  if (world.rank == 0 && !options.html.empty() && !result.losses.empty()) {
    write_page(options.html, train_page(options, result, trainer.timeline()));
    say(fmt::format("wrote {}: open it in a browser", options.html));
  }
  leave(world, result.interrupted_by == 0 ? Leaving::done : Leaving::unfinished);
  return result.interrupted_by == 0 ? 0 : 128 + result.interrupted_by;
}

// What all ranks have to say is said once.
bool first_to_say(const World& world, const std::string& text) {
  try {
    return world.store->add("train/said/" + text, 1) == 1;
  } catch (const std::exception&) {
    return true;
  }
}

// Once a rank has died mpirun passes on what the others say a second later. So they say it where mpirun itself speaks, if
// the system lets a child have its parent's descriptor (Yama does not): else they are heard late.
void speak_past_mpirun() {
  const Fd mpirun(static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)));
  const Fd error(static_cast<int>(::syscall(SYS_pidfd_getfd, mpirun.get(), STDERR_FILENO, 0)));
  if (error) ::dup2(error.get(), STDERR_FILENO);
}

// Where our launcher started mpirun, a rank ends with it, as ranks that the launcher starts end with that. It may be gone
// already, for loading libtorch takes a while: then somebody else has become the parent.
void end_with_mpirun() {
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr || std::getenv("GRADWIRE_STORE") == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::error_code unknown;
  const auto parent =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", ::getppid()), unknown).filename().string();
  const bool mpirun =
      parent.starts_with("mpirun") || parent.starts_with("orte") || parent.starts_with("prte");
  if (::getppid() == 1 || (!unknown && !mpirun)) ::_exit(1);
  speak_past_mpirun();
}

int run_rank(const char* json) {
  const World world = join("env://");
  try {
    return train(world, from_argument(json));
  } catch (const ConfigError& error) {
    if (first_to_say(world, error.what())) complain(error.what());
    return 2;
  } catch (const FileError& error) {
    if (first_to_say(world, error.what())) complain(error.what());
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
  if (argc != 2) {
    gradwire::say("gradwire-train is started by `gradwire train`; see gradwire train --help");
    return 2;
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) gradwire::listen_to(number);
  for (const int number : {SIGPIPE, SIGXFSZ})
    std::signal(number, SIG_IGN);  // writing fails instead, and is said
  gradwire::end_with_mpirun();
  try {
    return gradwire::run_rank(argv[1]);
  } catch (const std::exception& error) {
    gradwire::complain(error.what());
    return 1;
  }
}
