#include <CLI/CLI.hpp>
#include <memory>

#include "cli/flags.h"
#include "cli/verbs.h"
#include "launch/launcher.h"

namespace gradwire {
namespace {

constexpr const char* kRunExample = R"(
Each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and
MASTER_PORT in its environment, as under torchrun, and a share of the cores in
OMP_NUM_THREADS and OPENBLAS_NUM_THREADS unless you set them. Its lines come out
behind [rank]. When a rank fails the others are ended; the exit code is that of
the first that failed. Ctrl-C is passed on to the ranks; pressed twice it kills
them.

Examples:
  gradwire run -n 2 -- ./train --epochs 3
  gradwire run -n 4 --log-dir logs --max-restarts 3 -- python3 train.py
  gradwire run -n 8 --nnodes 2 --node-rank 0 --master node1:29500 \
      --secret-file ~/job.secret -- ./train
  gradwire run -n 8 --nnodes 1:4 --max-restarts 9 --node-rank 2 \
      --master node1:29500 -- ./train

With --nnodes 1:4 each attempt begins with the nodes that are there, node 0
among them; others take part from the next attempt on. One that is told to end
leaves, and the rest goes on without it if that is enough.
)";

struct RunFlags {
  LaunchFlags launch;
  std::vector<std::string> command;
};

LaunchOptions options_of(const RunFlags& flags) {
  LaunchOptions options = launch_options(flags.launch);
  options.command = flags.command;
  return options;
}

}  // namespace

void add_run_verb(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("run", "start a program as ranks, restart it when it fails");
  auto flags = std::make_shared<RunFlags>();
  add_launch_flags(*verb, flags->launch, "gradwire run");
  verb->add_option("program", flags->command, "what to run, and its arguments")->required();
  verb->footer(kRunExample);
  verb->callback([flags, &exit_code] { exit_code = launch(options_of(*flags)); });
}

}  // namespace gradwire
