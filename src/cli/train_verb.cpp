// The verb itself is without torch: it reads and checks the flags and starts ranks of gradwire-train, the
// program that is built where libtorch is. So `gradwire` starts in milliseconds and runs on machines without
// it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/train_flags.h"
#include "cli/train_ways.h"
#include "cli/usage.h"
#include "cli/verbs.h"
#include "report/terminal.h"
#include "train/job/mesh_options.h"
#include "train/job/options.h"

namespace gradwire {
namespace {

constexpr const char* kTrainExample = R"(
Trains with DistributedDataParallel and says where a median step's time went.
Images are digits in the system's fonts, tested on fonts that were not learnt;
text is the licences every Debian has, byte by byte (or --text FILE); resnets
take generated images of ImageNet's size. Each rank gets its share of the cores.
Other nodes join with --nnodes, --node-rank and --master, as under
`gradwire run`. --max-restarts goes on from the newest checkpoint. Checkpoints
are written beside the training: one that is due while the one before is still
being written is left out.
--backend mpi starts mpirun; `mpirun -n 2 gradwire train ...` works too.

Models:
)";

constexpr const char* kTrainExamples = R"(
Examples:
  gradwire train mlp -n 2
  gradwire train gpt-tiny -n 2 --steps 200 --trace step.json
  gradwire train gpt-tiny -n 2 --shard 3 --precision bf16
  gradwire train convnet -n 2 --checkpoint c.ckpt --checkpoint-every 50 \
    --max-restarts 3
  gradwire train gpt-tiny -n 8 --dp 2 --tp 2 --pp 2 --micro-batches 4 \
    --shard 3 --recompute
  gradwire train resnet50 -n 2 --batch 4 --compress bf16 --backend tcp --json
  gradwire train resnet50 --on dgx-a100 --batch 64 --html step.html
  gradwire train gpt2 --on 2x-rtx3090-pcie --measured nccl-tests.txt
  gradwire train llama-7b --on dgx-a100 --tp 2 --pp 2 --precision bf16

A step over wires that are only measured: what it computes, from ranks that
train apart, and what collectives take there.
  gradwire train mlp --backend none --trace apart.json
  gradwire bench all_reduce -b tcp --sizes 64K:64M:4 --json > wires.json
  gradwire train apart.json --on wires.json
The same of ranks that share a model, which rehearse it:
  gradwire train gpt-tiny --pp 2 --backend none --trace parts.json
  gradwire bench send -b tcp --json > send.json
  gradwire bench all_gather -b tcp --json > gather.json
  gradwire train gpt-tiny --pp 2 --backend tcp --trace real.json
  gradwire train parts.json --on send.json,gather.json --real real.json \
    --html both.html
)";

// What a model of a machine has no use for.
const std::vector<std::string> kRealOnly = {"--nnodes",
                                            "--node-rank",
                                            "--master",
                                            "--secret-file",
                                            "--interface",
                                            "--log-dir",
                                            "--max-restarts",
                                            "--timeout",
                                            "--grace",
                                            "--steps",
                                            "--lr",
                                            "--scale-lr",
                                            "--clip",
                                            "--seed",
                                            "--data",
                                            "--text",
                                            "--image",
                                            "--first-bucket-mb",
                                            "--checkpoint",
                                            "--checkpoint-every",
                                            "--checkpoint-keep",
                                            "--sharded",
                                            "--resume",
                                            "--resume-unchecked"};

// What makes a step one of a model that is split, and what the price of such a step knows nothing of.
const std::vector<std::string> kSplitting = {"--dp",
                                             "--tp",
                                             "--pp",
                                             "--shard",
                                             "--recompute",
                                             "--micro-batches",
                                             "--schedule",
                                             "--virtual-stages",
                                             "--sequence-parallel"};
const std::vector<std::string> kUnsplitOnly = {"--backend",   "--bucket-mb", "--compress", "--overlap",
                                               "--optimizer", "--trace",     "--real"};

std::string model_list() {
  std::string text;
  for (const TrainableModel& model : trainable_models())
    text += wrapped(fmt::format("  {:<12}{:>8.1f} M  {}", model.name,
                                static_cast<double>(model.parameters) / 1e6, model.what),
                    26);
  return text;
}

std::string find_trainer() {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gradwire-train";
  if (!std::filesystem::exists(beside))
    throw ConfigError(
        "there is no gradwire-train beside this program: install the package gradwire-train, or, where "
        "Gradwire was built without libtorch, install that (Debian: libtorch-dev libopenblas0-openmp) and "
        "build again");
  return beside.string();
}

// What is said alike of a real run and of a model of one.
int simulate(const TrainFlags& flags) {
  TrainOnOptions options;
  const TrainOptions& train = flags.train;
  options.model = train.model;
  options.on = flags.on;
  options.measured = flags.measured;
  options.real = flags.real;
  options.trace = train.trace;
  options.html = train.html;
  options.json = train.json;
  const TrainWords& words = flags.words;
  const auto backend = parse_train_backend(words.backend);
  if (backend.kind != TrainBackend::Kind::automatic) options.backend = to_string(backend);
  if (flags.ranks_given) options.ranks = flags.launch.ranks;
  options.step.nccl = flags.nccl;
  options.step.step_ms = flags.step_ms;
  options.step.batch = train.batch;
  options.step.accumulate = train.accumulate;
  options.step.sequence = train.sequence;
  options.step.bucket_mb = train.bucket_mb;
  options.step.precision = full_precision(words.precision);
  options.step.compression = words.compress;
  options.step.no_overlap = parse_overlap(words.overlap) == Overlap::after_backward;
  options.step.optimizer = words.optimizer;
  if (flags.split) {
    options.split = train;
    read_words(words, *options.split);
  }
  return train_on_machine(options);
}

int run_train(const TrainFlags& flags) {
  if (!flags.on.empty()) return simulate(flags);
  TrainOptions train = flags.train;
  read_words(flags.words, train);
  if (!flags.interval.empty()) read_interval(flags.interval, train);
  train = complete(train);
  if (!train.html.empty()) train.command = typed_command();
  LaunchOptions options = launch_options(flags.launch);
  options.name = "gradwire train";
  options.final_codes = {2};  // bad usage or input
  if (!find_variable(options.environment, "OMPI_COMM_WORLD_SIZE") &&
      !find_variable(options.environment, "PMI_SIZE"))
    check_replicas(train,
                   mesh_of(train, options.ranks * options.nodes));  // refuses here what every rank would
  // Rank 0 alone speaks, to the terminal itself: lines in front of which a rank stands can't hold a progress
  // bar.
  if (flags.launch.log_dir.empty()) options.group.output = GroupOptions::Output::inherit;
  return start_ranks(std::move(options), find_trainer(), train);
}

void add_train_rank_verb(CLI::App& app) {
  auto* verb = app.add_subcommand("train-rank", "a rank process of `train` under mpirun")->group("");
  auto command = std::make_shared<std::vector<std::string>>();
  verb->add_option("program", *command, "what to become, and its arguments")->required();
  verb->callback([command] { become_rank_of_mpirun(*command); });
}

}  // namespace

void add_train_verb(CLI::App& app, int& exit_code) {
  add_train_rank_verb(app);
  auto* verb =
      app.add_subcommand("train", "train a built-in model on several ranks, and say where the time went");
  auto flags = std::make_shared<TrainFlags>();
  flags->launch.ranks = 2;
  add_train_flags(*verb, *flags);
  verb->footer(kTrainExample + model_list() + kTrainExamples);
  verb->callback([verb, flags, &exit_code] {
    flags->ranks_given = verb->count("--ranks") > 0;
    flags->split =
        std::ranges::any_of(kSplitting, [&](const std::string& flag) { return verb->count(flag) > 0; });
    if (!flags->on.empty()) {
      refuse_flags(*verb, kRealOnly, "with --on: a step is simulated, nothing is trained");
      if (flags->split && is_split(flags->train))
        refuse_flags(*verb, kUnsplitOnly, "with --on and a model that is split: it is priced as by `plan`");
    } else {
      refuse_flags(*verb, {"--measured", "--nccl", "--real", "--step-ms"},
                   "without --on: nothing is simulated");
    }
    exit_code = run_train(*flags);
  });
}

}  // namespace gradwire
