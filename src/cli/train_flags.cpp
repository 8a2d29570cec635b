#include "cli/train_flags.h"

#include "cli/usage.h"

namespace gradwire {
namespace {

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

void add_train_flags(CLI::App& verb, TrainFlags& flags) {
  verb.add_option("model", flags.train.model, "one of those below; with --on any of gradwire list models")
      ->required();
  verb.add_option(
      "--on", flags.on,
      "simulate a step on this machine instead, as compare does; -n: so many of its GPUs; or over "
      "the wires of a bench --json (several: FILE,FILE), with a trace");
  verb.add_option("--real", flags.real,
                  "with --on: a trace of the same run, to say how far off that is and to lay over it");
  verb.add_option("--step-ms", flags.step_ms, "with --on: a step of this batch measured on one such GPU")
      ->check(within(0.001, 1e9));
  add_nccl_flag(verb, flags.nccl);
  add_measured_flag(verb, flags.measured);
  add_launch_flags(verb, flags.launch, "gradwire train");
  add_training_flags(verb, flags.train, flags.words);
  add_communication_flags(verb, flags.train, flags.words);
  add_mesh_flags(verb, flags.train, flags.words);
  add_file_flags(verb, flags);
}

}  // namespace gradwire
