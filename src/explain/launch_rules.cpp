// What a script sets for NCCL before a run, and how a job shares out GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "explain/log_words.h"
#include "explain/script_words.h"

namespace gradwire {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view leading_word(std::string_view text) {
  return text.substr(
      0, static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin()));
}

std::string_view without_leading(std::string_view text, std::string_view characters) {
  return text.substr(std::min(text.find_first_not_of(characters), text.size()));
}

// Behind a name, what it is set to: os.environ["NAME"] = "1", setdefault("NAME", "1"), {"NAME": "1"}, NAME=1. A comparison
// sets nothing.
std::optional<std::string_view> find_value(std::string_view behind) {
  const bool quoted = behind.starts_with('"') || behind.starts_with('\'');
  if (quoted) behind = without_leading(behind, "\"'] ");
  if (behind.empty() || behind.starts_with("==")) return std::nullopt;
  if (behind[0] != '=' && !(quoted && (behind[0] == ',' || behind[0] == ':'))) return std::nullopt;
  const auto value = without_leading(behind.substr(1), quoted ? "\"' " : "\"'");
  const auto end = std::find_if_not(value.begin(), value.end(), [](char c) {
    return is_word(c) || c == '^' || c == '-' || c == ',';  // "^docker0,lo"
  });
  auto word = value.substr(0, static_cast<std::size_t>(end - value.begin()));
  while (word.ends_with(',')) word.remove_suffix(1);
  return word.empty() ? std::nullopt : std::optional(word);
}

bool only_asks(std::string_view before) {
  return holds_any(before, {".get(", "getenv(", ".pop(", "unset", "echo", "print("});
}

void read_settings(const ScriptLine& line, std::map<std::string, SaidInLog>& variables) {
  const std::string_view text = line.text;
  for (const std::string_view start :
       {"NCCL_", "CUDA_LAUNCH_BLOCKING", "TORCH_DISTRIBUTED_DEBUG", "GLOO_SOCKET_IFNAME", "FI_"})
    for (auto at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
      const auto name = leading_word(text.substr(at));
      const auto value = find_value(text.substr(at + name.size()));
      if (value && !only_asks(text.substr(0, at)))
        variables.try_emplace(std::string(name), SaidInLog{std::string(*value), line.number, 1});
    }
}

// "--gpus-per-task=1", "--gpus-per-task 1"
std::optional<int> find_option(const ScriptLine& line, std::string_view option) {
  const auto at = line.text.find(option);
  if (at == std::string::npos) return std::nullopt;
  auto rest = std::string_view(line.text).substr(at + option.size());
  while (!rest.empty() && (rest[0] == '=' || rest[0] == ' ')) rest.remove_prefix(1);
  return find_integer<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
}

std::optional<int> find_option(const ScriptFile& script, std::initializer_list<std::string_view> options) {
  for (const ScriptLine& line : script.lines)
    for (const auto option : options)
      if (const auto value = find_option(line, option)) return value;
  return std::nullopt;
}

// Slurm then shows each process one GPU, and those of the others are out of its reach.
void check_gpus_of_tasks(const ScriptFile& script, std::vector<Finding>& findings) {
  const auto line = std::find_if(script.lines.begin(), script.lines.end(), [](const ScriptLine& one) {
    return find_option(one, "--gpus-per-task") == 1 ||
           one.code.find("--gpu-bind=single") != std::string::npos ||
           one.code.find("--gpu-bind=per_task") != std::string::npos;
  });
  const bool alone = find_option(script, {"--ntasks-per-node", "--tasks-per-node", "--ntasks"}) == 1;
  if (line == script.lines.end() || alone || script.has("--gpu-bind=none")) return;
  add_at(script, *line,
         {"R17", Severity::high,
          "each process is given a single GPU and sees no other: NCCL can't use NVLink or peer access "
          "between them and goes through host memory",
          "--gpus-per-node=N and a device by SLURM_LOCALID, instead of --gpus-per-task and --gpu-bind"},
         findings);
  findings.back().apart = Apart::hidden;
}

// The batch script itself runs on the first node alone; somebody has to start the rest.
void check_started_nodes(const ScriptFile& script, std::vector<Finding>& findings) {
  const auto option = [&](const ScriptLine& line) {
    if (!line.text.starts_with("#SBATCH")) return std::optional<int>();
    const auto nodes = find_option(line, "--nodes");
    return nodes ? nodes : find_option(line, "-N ");
  };
  const auto asks = std::find_if(script.lines.begin(), script.lines.end(),
                                 [&](const ScriptLine& line) { return option(line).value_or(1) > 1; });
  if (asks == script.lines.end()) return;
  const auto starts = [](const ScriptLine& line) {
    return !line.text.starts_with("#SBATCH") &&
           holds_any(line.text, {"srun", "mpirun", "mpiexec", "ssh", "pdsh", "deepspeed", "horovodrun",
                                 "ray ", "parallel", "clush", "jsrun", "flux", "submitit"});
  };
  const auto command = std::find_if(script.lines.begin(), script.lines.end(), [](const ScriptLine& line) {
    return holds_any(line.text, {"python", "torchrun", "accelerate launch"}) &&
           !line.text.starts_with("#SBATCH");
  });
  const bool started = std::any_of(script.lines.begin(), script.lines.end(), starts);
  if (started || command == script.lines.end()) return;
  add_at(script, *command,
         {"R23", Severity::high,
          fmt::format("the job has {} nodes, and this starts processes on the first of them alone: the "
                      "others' ranks never come",
                      *option(*asks)),
          "srun before it, with as many tasks a node as it needs (--ntasks-per-node: one for torchrun, else "
          "one a GPU)"},
         findings);
}

void hint_at_shared_memory(const ScriptFile& script, std::vector<Finding>& hints) {
  const auto line = std::find_if(script.lines.begin(), script.lines.end(), [](const ScriptLine& one) {
    return one.text.find("docker run") != std::string::npos && one.text.find("--gpus") != std::string::npos;
  });
  if (line == script.lines.end() || script.has("--shm-size") || script.has("--ipc")) return;
  add_at(script, *line,
         {"R18", Severity::low,
          "a container has 64 MB of shared memory unless told otherwise, too little for NCCL and loaders",
          "docker run --ipc=host, or --shm-size=1g"},
         hints);
}

}  // namespace

std::map<std::string, SaidInLog> settings_in(const ScriptFile& script) {
  std::map<std::string, SaidInLog> variables;
  for (const ScriptLine& line : script.lines) read_settings(line, variables);
  return variables;
}

void hint_at_shared_memory(const EnvironmentFile& file, std::vector<Finding>& hints) {
  if (!file.job.described || file.job.gpus < 2 || file.job.shares_memory) return;
  Finding hint;
  hint.rule = "R18";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what = fmt::format(
      "a container with {} GPUs and 64 MB of shared memory, which is too little for NCCL and loaders",
      file.job.gpus);
  hint.evidence = fmt::format("{}:{}: nothing is mounted at /dev/shm", short_name(file.file), file.job.line);
  hint.fix =
      "volumes: - name: shm, emptyDir: {medium: Memory}; volumeMounts: - mountPath: /dev/shm, name: shm; of "
      "Compose shm_size: 1g, or ipc: host";
  hints.push_back(std::move(hint));
}

void add_launch_findings(const ScriptFile& script, const std::vector<NcclLog>& logs, Diagnosis& diagnosis) {
  const auto variables = settings_in(script);
  const bool several = find_option(script, {"--nnodes", "--nodes", "--num_machines"}).value_or(1) > 1;
  check_variables({.file = script.file,
                   .of = variables,
                   .over_sockets = goes_over_sockets(logs, several) && !script.has("/opt/amazon/efa"),
                   .alone = false,
                   .in_code = true,
                   .reach = several ? Reach::several_nodes : Reach::unknown},
                  diagnosis);
  check_gpus_of_tasks(script, diagnosis.findings);
  check_started_nodes(script, diagnosis.findings);
  hint_at_shared_memory(script, diagnosis.hints);
}

}  // namespace gradwire
