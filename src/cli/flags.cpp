#include "cli/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "base/text.h"
#include "cli/usage.h"
#include "explain/own_measurements.h"
#include "report/page/page_file.h"
#include "report/page/question.h"

namespace gradwire {
namespace {

std::optional<int> if_given(int value, int none) {
  return value == none ? std::nullopt : std::optional(value);
}

}  // namespace

void add_step_flags(CLI::App& verb, StepFlags& flags) {
  add_nccl_flag(verb, flags.nccl);
  verb.add_option("--batch", flags.batch, "samples a GPU takes a step; the model's usual one if not given")
      ->check(within(1, 1 << 20));
  verb.add_option("--sequence", flags.sequence, "tokens of a sample, for models that have them")
      ->check(within(1, 1 << 20));
  verb.add_option("--precision", flags.precision,
                  "of computing: fp32 tf32 fp16 bf16; of models that are split, if not given, as by `plan`")
      ->capture_default_str();
  verb.add_option("--step-ms", flags.step_ms,
                  "a step of this batch measured on one GPU without DDP: far better than the roofline")
      ->check(within(0.001, 1e9));
  verb.add_option("--accumulate", flags.accumulate, "micro-batches between two all-reduces")
      ->capture_default_str()
      ->check(within(1, 1 << 20));
  verb.add_option("--bucket-mb", flags.bucket_mb, "DDP's bucket_cap_mb")
      ->capture_default_str()
      ->check(within(0.001, 1e6));
  verb.add_option("--gradients", flags.gradients, "fp32 fp16 bf16")->capture_default_str();
  verb.add_option("--compress", flags.compression, "communication hook: none fp16 bf16 powersgd")
      ->capture_default_str();
  verb.add_option(
          "--distribution", flags.distribution,
          "ddp horovod tf-replicated dataparallel none; alike: megatron-dp paddle (ddp), byteps mxnet "
          "(horovod), mirrored (tf-replicated)")
      ->capture_default_str();
  verb.add_flag("--no-overlap", flags.no_overlap,
                "all-reduce only when backward is over (tf-replicated: with XLA)");
  verb.add_option("--optimizer", flags.optimizer, "sgd adam adamw lamb; the model's usual one if not given");
  verb.add_option("--data-ms", flags.data_ms, "a step waits this long for its input")->check(within(0, 1e8));
}

CLI::Option* add_html_flag(CLI::App& verb, std::string& file) {
  return verb.add_option("--html", file, "write a page too: one file to open in a browser, offline")
      ->type_name("FILE")
      ->each([](const std::string& value) { check_page_place(value); });
}

std::string typed_command(std::string_view without, std::string_view instead) {
  const std::string line = read_file("/proc/self/cmdline");
  std::string command = "gradwire", value;
  if (!instead.empty()) value = fmt::format(" {} {}", without, quoted_word(instead));
  const auto words = split(line, '\0');  // a last one is empty
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "--") command += std::exchange(value, "");  // behind it stand no flags
    if (words[i] == without)
      ++i;
    else if (!words[i].starts_with(fmt::format("{}=", without)))
      command += " " + quoted_word(words[i]);
  }
  return command + value;
}

void write_html(const std::string& file, PageData page) {
  if (file.empty()) return;
  if (page.command.empty()) page.command = typed_command();
  write_page(file, page);
  say(fmt::format("wrote {}: open it in a browser", file));
}

void add_nccl_flag(CLI::App& verb, std::map<std::string, std::string>& variables) {
  variables = nccl_environment();
  const auto take = [&variables](const std::string& version) {
    const auto number = find_nccl_version(version);
    if (!number || *number < 200 || *number >= 300)
      throw ConfigError(fmt::format("--nccl {}: write a version of NCCL 2, as in 2.26", version));
    variables["NCCL_VERSION"] = version;
  };
  verb.add_option_function<std::string>(
          "--nccl", take, "which NCCL runs there; what goes straight depends on it, on AMD since 2.23")
      ->type_name("VERSION");
}

bool PlanSizes::any() const {
  return dp + tp + pp + micro_batch + chunks + experts > 0 || shard >= 0 || !recompute.empty() || offload ||
         memory > 0;
}

void add_plan_sizes(CLI::App& verb, PlanSizes& sizes) {
  verb.add_option("--dp", sizes.dp, "data parallelism: replicas")->check(within(1, 1 << 20));
  verb.add_option("--tp", sizes.tp, "tensor parallelism: GPUs that share a layer")->check(within(1, 1 << 20));
  verb.add_option("--pp", sizes.pp, "pipeline stages")->check(within(1, 1 << 20));
  verb.add_option("--ep", sizes.experts, "GPUs that experts are spread over")->check(within(1, 1 << 20));
  verb.add_option("--chunks", sizes.chunks, "pieces of the model a stage holds (interleaved schedule)")
      ->check(within(1, 1024));
  verb.add_option("--shard", sizes.shard, "along dp: 0 nothing, 1 optimizer, 2 gradients, 3 parameters")
      ->check(within(0, 3));
  verb.add_option("--micro-batch", sizes.micro_batch, "sequences at a time")->check(within(1, 1 << 20));
  verb.add_option("--recompute", sizes.recompute, "activations: none selective full");
  verb.add_option("--memory", sizes.memory, "GiB of a GPU that may be used; 94 % of what it has if not given")
      ->check(within(0.1, 1e4));
  verb.add_flag("--offload", sizes.offload, "the optimizer's state lives in host memory");
}

void apply(const PlanSizes& sizes, PlanQuestion& question) {
  question.dp = if_given(sizes.dp, 0);
  question.tp = if_given(sizes.tp, 0);
  question.pp = if_given(sizes.pp, 0);
  question.shard = if_given(sizes.shard, -1);
  question.micro_batch = if_given(sizes.micro_batch, 0);
  question.virtual_stages = if_given(sizes.chunks, 0);
  question.expert_parallel = if_given(sizes.experts, 0);
  if (!sizes.recompute.empty()) question.recompute = parse_recompute(sizes.recompute);
  question.offload = sizes.offload;
  if (sizes.memory > 0) question.memory = sizes.memory * (1 << 30);
}

void add_measured_flag(CLI::App& verb, std::vector<std::string>& files) {
  verb.add_option(
          "--measured", files,
          "what was measured there: nccl-tests, p2pBandwidthLatencyTest, nvbandwidth, bench --json, two "
          "columns; several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void apply_measured(Machine& machine, const std::vector<std::string>& files, const NcclSettings& settings) {
  if (files.empty()) return;
  OwnMeasurements all;
  for (const std::string& file : files)
    add_measurements(read_file(file), file, static_cast<int>(machine.gpus.size()), all);
  take_measured(machine, all, settings);
}

void apply_measured(std::vector<Machine>& machines, const std::vector<std::string>& files,
                    const NcclSettings& settings) {
  std::vector<std::vector<std::string>> of(machines.size());
  for (const std::string& file : files) {
    const auto equals = file.find('=');
    const auto number = find_integer<std::size_t>(file.substr(0, equals == std::string::npos ? 0 : equals));
    if (number && (*number < 1 || *number > machines.size()))
      throw ConfigError(fmt::format("--measured {}: there are {} machines", file, machines.size()));
    of[number ? *number - 1 : 0].push_back(number ? file.substr(equals + 1) : file);
  }
  for (std::size_t i = 0; i < machines.size(); ++i) apply_measured(machines[i], of[i], settings);
}

std::vector<Machine> measured_machines(const std::vector<std::string>& on,
                                       const std::vector<std::string>& files, const NcclSettings& settings) {
  std::vector<Machine> machines;
  for (const auto& name : on) {
    machines.push_back(find_machine(name));
    machines.back().name = name;
  }
  apply_measured(machines, files, settings);
  return machines;
}

}  // namespace gradwire
