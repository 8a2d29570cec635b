// gradwire-train OPTIONS: a rank of `gradwire train`, started by it with the options as JSON. Exit codes as
// there.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/deadline.h"
#include "base/error.h"
#include "cli/progress.h"
#include "net/rendezvous/rendezvous.h"
#include "report/render.h"
#include "report/train.h"
#include "train/job/agreement.h"
#include "train/job/options.h"
#include "train/job/restart.h"
#include "train/job/trainer.h"

namespace gradwire {
namespace {

// When a rank dies the launcher ends the others (SIGTERM). They go on to the end of a step, which fails by
// itself when it was the dead one's, so that each can say whom it missed.
volatile std::sig_atomic_t told_to_end = 0;
void note_signal(int) { told_to_end = 1; }

// Whoever waits for this process shall see that a signal ended it.
void end_as_told() {
  if (!told_to_end) return;
  std::signal(SIGTERM, SIG_DFL);
  std::raise(SIGTERM);
}

// Who reads may have gone (a pipe into head): the training goes on, it may have a checkpoint to write. A disk that is full
// is a failure.
void say(const std::string& text) {
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
    say(to_text(run_report(options_, result)) + "\n");
  }

  void step(int step, double loss, Seconds time) {
    if (told_to_end) throw Error("told to end");
    if (!speaks_) return;
    const double rate = options_.batch * options_.accumulate * world_.size / time;
    const auto text =
        fmt::format("step {} of {}  loss {:.4f}  {:.1f} samples/s", step + 1, options_.steps, loss, rate);
    bar_.show((step + 1.0) / options_.steps, text);
    const int every = std::max(1, options_.steps / 10);
    if (bar_.visible() || ((step + 1) % every != 0 && step != 0)) return;
    say(fmt::format("{}\n", text));
  }

  void end(const TrainResult& result) {
    bar_.clear();
    if (world_.rank != 0) return;
    const Report report = train_report(options_, result);
    if (!options_.json && !bar_.visible()) say("\n");
    say(options_.json ? to_json(report) : to_text(report));
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
  if (restarts == 0) return find_beginning(options, 0);
  const std::string key = "train/beginning";
  if (world.rank == 0) world.store->set(key, find_beginning(options, restarts).resume);
  Beginning beginning = find_beginning(options, restarts);
  beginning.resume = world.store->get(key, Deadline::after(world.timeout));
  return beginning;
}

void train(const World& world, TrainOptions options) {
  agree_on_options(world, options);
  const Beginning beginning = agree_on_beginning(world, options);
  options.resume = beginning.resume;
  Display display(options, world);
  Trainer trainer(world, options);
  if (world.rank == 0 && !beginning.what.empty())
    fmt::print(stderr, "gradwire train: {} from step {}: {}\n", beginning.what, trainer.describe().first_step,
               beginning.why);
  display.begin(trainer.describe());
  const TrainResult result =
      trainer.train([&](int step, double loss, Seconds time) { display.step(step, loss, time); });
  if (world.rank == 0 && !options.trace.empty()) write_timeline(options.trace, trainer.timeline());
  display.end(result);
  leave(world);
}

// What all ranks have to say is said once.
bool first_to_say(const World& world, const std::string& text) {
  try {
    return world.store->add("train/said/" + text, 1) == 1;
  } catch (const std::exception&) {
    return true;
  }
}

int run_rank(const char* json) {
  const World world = join("env://");
  try {
    train(world, nlohmann::json::parse(json).get<TrainOptions>());
    return 0;
  } catch (const ConfigError& error) {
    if (first_to_say(world, error.what())) fmt::print(stderr, "gradwire train: {}\n", error.what());
    return 2;
  } catch (const c10::Error& error) {  // without the frames it would print
    fmt::print(stderr, "gradwire train: rank {}: {}\n", world.rank, error.what_without_backtrace());
    return 1;
  } catch (const std::exception& error) {
    if (!told_to_end || std::string(error.what()) != "told to end")
      fmt::print(stderr, "gradwire train: rank {}: {}\n", world.rank, error.what());
    return 1;
  }
}

}  // namespace
}  // namespace gradwire

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "gradwire-train is started by `gradwire train`; see gradwire train --help\n");
    return 2;
  }
  std::signal(SIGTERM, gradwire::note_signal);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const int code = gradwire::run_rank(argv[1]);
    if (code != 0) gradwire::end_as_told();
    return code;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gradwire train: {}\n", error.what());
    return 1;
  }
}
