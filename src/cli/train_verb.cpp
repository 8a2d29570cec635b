// The verb itself is without torch: it reads and checks the flags and starts ranks of gradwire-train, the
// program that is built where libtorch is. So `gradwire` starts in milliseconds and runs on machines without
// it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/flags.h"
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

struct TrainFlags {
  LaunchFlags launch;
  TrainOptions train;
  TrainWords words;
  std::string on, real, interval;
  std::vector<std::string> measured;
  std::map<std::string, std::string> nccl;  // its variables
  bool ranks_given = false;
};

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
                                            "--shard",
                                            "--sharded",
                                            "--resume",
                                            "--resume-unchecked",
                                            "--dp",
                                            "--tp",
                                            "--pp",
                                            "--schedule",
                                            "--micro-batches",
                                            "--virtual-stages",
                                            "--sequence-parallel",
                                            "--recompute"};

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
  options.step.batch = train.batch;
  options.step.accumulate = train.accumulate;
  options.step.sequence = train.sequence;
  options.step.bucket_mb = train.bucket_mb;
  options.step.precision = full_precision(words.precision);
  options.step.compression = words.compress;
  options.step.no_overlap = parse_overlap(words.overlap) == Overlap::after_backward;
  options.step.optimizer = words.optimizer;
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
    mesh_of(train, options.ranks * options.nodes);  // refuses here what every rank would
  // Rank 0 alone speaks, to the terminal itself: lines in front of which a rank stands can't hold a progress
  // bar.
  if (flags.launch.log_dir.empty()) options.group.output = GroupOptions::Output::inherit;
  return start_ranks(std::move(options), find_trainer(), train);
}

void add_training_flags(CLI::App& verb, TrainOptions& train, TrainWords& words) {
  verb.add_option("--steps", train.steps, "optimizer steps in all")
      ->capture_default_str()
      ->check(within(1, 1e9));
  verb.add_option("--batch", train.batch, "samples a rank and micro-batch [the model's]")
      ->check(within(1, 1 << 20));
  verb.add_option("--accumulate", train.accumulate, "micro-batches a step; the last one communicates")
      ->capture_default_str()
      ->check(within(1, 1 << 20));
  verb.add_option("--precision", words.precision, "fp32 fp64; bf16 fp16: computed so, learnt in fp32")
      ->capture_default_str();
  verb.add_option("--shard", train.shard,
                  "ranks share 1: optimizer state, 2: and gradients, 3: and parameters")
      ->capture_default_str()
      ->check(within(0, 3));
  verb.add_option("--optimizer", words.optimizer, "sgd (momentum 0.9) or adamw [the model's]");
  verb.add_option("--lr", train.learning_rate, "learning rate [the model's]")->check(within(1e-12, 1e6));
  verb.add_flag("--scale-lr", train.scale_lr, "multiply it by the number of ranks, also when that changes");
  verb.add_option("--clip", train.clip, "largest norm of all gradients; 0: any")->capture_default_str();
  verb.add_option("--seed", train.seed, "of weights, shuffles and dropout")->capture_default_str();
  verb.add_option("--data", words.data, "real or generated");
  verb.add_option("--text", train.text, "a file to learn text from");
  verb.add_option("--sequence", train.sequence, "tokens a sample of text [128, or the model's context]")
      ->check(within(1, 1 << 20));
  verb.add_option("--image", train.image, "pixels along a generated image's side")->capture_default_str();
}

void add_communication_flags(CLI::App& verb, TrainOptions& train, TrainWords& words) {
  verb.add_option("-b,--backend", words.backend,
                  "auto shm tcp gloo mpi nccl shm+tcp shm+gloo; none: ranks apart")
      ->capture_default_str();
  verb.add_option("--bucket-mb", train.bucket_mb, "MiB of a bucket of gradients")
      ->capture_default_str()
      ->check(within(1e-6, 1e6));
  verb.add_option("--first-bucket-mb", train.first_bucket_mb,
                  "MiB of the first, small so that it leaves early")
      ->capture_default_str();
  verb.add_option("--compress", words.compress, "what gradients travel as: none fp16 bf16 powersgd")
      ->capture_default_str();
  verb.add_flag("--sync-batch-norm", train.sync_batch_norm, "resnets: normalize over the batch of all ranks");
  verb.add_option("--overlap", words.overlap, "buckets leave: during backward, after it, or auto")
      ->capture_default_str();
}

// How the ranks share the model; other than the batch.
void add_mesh_flags(CLI::App& verb, TrainOptions& train, TrainWords& words) {
  verb.add_option("--dp", train.dp, "ranks that learn from different data [what --tp and --pp leave]")
      ->check(within(1, 1 << 20));
  verb.add_option("--tp", train.tp, "ranks that share each layer (tensor parallelism; gpt, bert)")
      ->capture_default_str()
      ->check(within(1, 1 << 20));
  verb.add_option("--pp", train.pp, "stages the layers are cut into (pipeline parallelism)")
      ->capture_default_str()
      ->check(within(1, 1 << 20));
  verb.add_option("--micro-batches", train.micro_batches,
                  "of --batch samples, that fill a pipeline [2 a stage]")
      ->check(within(1, 1 << 20));
  verb.add_option("--schedule", words.schedule, "of a pipeline: gpipe 1f1b interleaved")
      ->capture_default_str();
  verb.add_option("--virtual-stages", train.virtual_stages, "chunks a stage, of interleaved [2]")
      ->check(within(1, 1 << 20));
  verb.add_flag("--sequence-parallel", train.sequence_parallel,
                "with --tp: norms and dropout on a part of the sequence");
  verb.add_flag("--recompute", train.recompute,
                "layers run again in backward instead of keeping activations");
}

void add_file_flags(CLI::App& verb, TrainFlags& flags) {
  TrainOptions& train = flags.train;
  verb.add_option("--trace", train.trace, "write the steps of all ranks as a Chrome/Perfetto trace")
      ->envname("GRADWIRE_TRACE");
  add_html_flag(verb, train.html);
  verb.add_option("--checkpoint", train.checkpoint, "write parameters and optimizer at the end");
  verb.add_option("--checkpoint-every", flags.interval,
                  "and beside the training, every so many steps (10) or so often (30s, 5m)");
  verb.add_option("--checkpoint-keep", train.checkpoint_keep, "so many in all; older ones as FILE.step-N")
      ->capture_default_str();
  verb.add_flag("--sharded", train.sharded, "every rank writes a part of the checkpoint");
  verb.add_option("--resume", train.resume, "go on from a checkpoint, with any ranks, --shard, --tp, --pp");
  verb.add_flag("--resume-unchecked", train.resume_unchecked,
                "also from a file without a checksum of gradwire's");
  verb.add_flag("--json", train.json, "print one JSON object and nothing else");
}

}  // namespace

void add_train_verb(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("train", "train a built-in model on several ranks, and say where the time went");
  auto flags = std::make_shared<TrainFlags>();
  flags->launch.ranks = 2;
  verb->add_option("model", flags->train.model, "one of those below; with --on any of gradwire list models")
      ->required();
  verb->add_option(
      "--on", flags->on,
      "simulate a step on this machine instead, as compare does; -n: so many of its GPUs; or over "
      "the wires of a bench --json (several: FILE,FILE), with a trace");
  verb->add_option("--real", flags->real,
                   "with --on: a trace of the same run, to say how far off that is and to lay over it");
  add_nccl_flag(*verb, flags->nccl);
  add_measured_flag(*verb, flags->measured);
  add_launch_flags(*verb, flags->launch, "gradwire train");
  add_training_flags(*verb, flags->train, flags->words);
  add_communication_flags(*verb, flags->train, flags->words);
  add_mesh_flags(*verb, flags->train, flags->words);
  add_file_flags(*verb, *flags);
  verb->footer(kTrainExample + model_list() + kTrainExamples);
  verb->callback([verb, flags, &exit_code] {
    flags->ranks_given = verb->count("--ranks") > 0;
    if (!flags->on.empty())
      refuse_flags(*verb, kRealOnly, "with --on: a step is simulated, nothing is trained");
    else
      refuse_flags(*verb, {"--measured", "--nccl", "--real"}, "without --on: nothing is simulated");
    exit_code = run_train(*flags);
  });
}

}  // namespace gradwire
