#include "import/environment.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace gradwire {
namespace {

std::string_view without_quotes(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    return value.substr(1, value.size() - 2);
  return value;
}

bool is_variable_name(std::string_view key) {
  return !key.empty() &&
         key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
             std::string_view::npos;
}

// The value of YAML or of a shell, without the comment behind it.
std::string_view plain_value(std::string_view value) {
  const auto text = trim(value);
  if (text.starts_with('"') || text.starts_with('\'')) {
    const auto end = text.find(text[0], 1);
    return end == std::string_view::npos ? text : text.substr(1, end - 1);
  }
  return trim(value.substr(0, std::min(value.find(" #"), value.find("\t#"))));
}

using SetVariable = std::pair<std::string_view, std::string_view>;

// "NCCL_DEBUG=INFO", behind what a shell or the recipe of a container puts before it, or as the item of a list: "- A=1". In
// quotes as a whole, "- 'A=1'  # why", there is no comment inside of it.
std::optional<SetVariable> find_assignment(std::string_view line) {
  for (const std::string_view word : {"export ", "declare -x ", "ENV ", "- "})
    if (line.starts_with(word)) line = trim(line.substr(word.size()));
  const bool quoted = line.starts_with('"') || line.starts_with('\'');
  if (quoted) line = plain_value(line);
  const auto equals = line.find('=');
  if (equals == std::string_view::npos || !is_variable_name(line.substr(0, equals))) return std::nullopt;
  const auto value = line.substr(equals + 1);
  return SetVariable{line.substr(0, equals), quoted ? without_quotes(trim(value)) : plain_value(value)};
}

// "NCCL_DEBUG: INFO"; keys of YAML that are no variables are of small letters.
std::optional<SetVariable> find_entry(std::string_view line) {
  const auto colon = line.find(": ");
  const auto key = line.substr(0, colon);
  const bool capitals = key.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
  if (colon == std::string_view::npos || !capitals || !is_variable_name(key)) return std::nullopt;
  return SetVariable{key, plain_value(line.substr(colon + 1))};
}

// "- name: NCCL_DEBUG", of which the next line has the value; also "- {name: NCCL_DEBUG, value: INFO}".
class NamedEntries {
 public:
  std::optional<SetVariable> find(std::string_view line) {
    if (const auto name = behind(line, "name: ")) name_ = *name;
    const auto value = behind(line, "value: ");
    if (!value || !is_variable_name(name_)) return std::nullopt;
    return SetVariable{std::exchange(name_, {}), *value};
  }

 private:
  static std::optional<std::string_view> behind(std::string_view line, std::string_view key) {
    const auto at = line.find(key);
    const bool begins = at == 0 || (at != std::string_view::npos &&
                                    (line[at - 1] == ' ' || line[at - 1] == '{' || line[at - 1] == ','));
    if (!begins) return std::nullopt;
    const auto rest = trim(line.substr(at + key.size()));
    const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
    return quoted ? plain_value(rest) : trim(plain_value(rest.substr(0, rest.find_first_of(",}"))));
  }

  std::string_view name_;
};

// "nvidia.com/gpu: 4" of Kubernetes, "gpus: all" or "count: 4" below "driver: nvidia" of Compose. Of a single GPU NCCL shares nothing.
void read_gpus(std::string_view line, int number, JobFile& job) {
  const auto colon = line.find(": ");
  const auto key = line.substr(0, colon);
  const auto value =
      colon == std::string_view::npos ? std::string_view{} : plain_value(line.substr(colon + 2));
  job.on_gpus = job.on_gpus || value == "nvidia" || key.find("gpu") != std::string_view::npos;
  const bool counts = key == "nvidia.com/gpu" || key == "amd.com/gpu" || key == "gpus" ||
                      (job.on_gpus && key.ends_with("count"));
  const auto gpus = value == "all" ? 8 : find_integer<int>(value).value_or(0);
  if (!counts || gpus <= job.gpus) return;
  job.gpus = gpus;
  job.line = number;
}

// What gives a container more than 64 MB of it: a volume over /dev/shm, the host's, or a size.
bool gives_shared_memory(std::string_view line) {
  return line.find("/dev/shm") != std::string_view::npos ||
         line.find("hostIPC: true") != std::string_view::npos || line.starts_with("shm_size:") ||
         line.starts_with("ipc:") || line.find("--shm-size") != std::string_view::npos ||
         line.find("--ipc") != std::string_view::npos;
}

JobFile find_job(std::string_view text) {
  JobFile job;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    auto line = trim(raw);
    if (line.starts_with("- ")) line = trim(line.substr(2));
    job.described = job.described || line.starts_with("apiVersion:") || line.starts_with("services:");
    job.shares_memory = job.shares_memory || gives_shared_memory(line);
    read_gpus(line, number, job);
  }
  return job;
}

// What "accelerate config" writes.
bool configures_accelerate(std::string_view text) {
  return text.find("distributed_type: ") != std::string_view::npos &&
         text.find("num_processes: ") != std::string_view::npos;
}

}  // namespace

bool looks_like_job(std::string_view text) {
  bool yaml = false, sets = false;
  const JobFile job = find_job(text);
  if ((job.described && job.gpus > 0) || configures_accelerate(text)) return true;
  NamedEntries named;
  for (const auto raw : split(text, '\n')) {
    const auto line = trim(raw);
    const auto colon = line.find(':');
    const auto key = line.substr(0, colon);
    yaml = yaml || (line.ends_with(':') && !key.empty() &&
                    key.find_first_of(" \t\"'=()[]") == std::string_view::npos);
    auto pair = named.find(line);
    if (!pair) pair = find_entry(line);
    if (!pair && line.starts_with("- ")) pair = find_assignment(line);
    sets = sets || (pair && (pair->first.starts_with("NCCL_") || pair->first.starts_with("TORCH_") ||
                             pair->first.starts_with("CUDA_") || pair->first.starts_with("GLOO_")));
  }
  return yaml && sets;
}

EnvironmentFile parse_environment(std::string_view text, const std::string& name) {
  EnvironmentFile file;
  file.file = name;
  file.job = find_job(text);
  NamedEntries named;
  int line = 0;
  for (const auto raw : split(text, text.find('\0') == std::string_view::npos ? '\n' : '\0')) {
    ++line;
    const auto words = trim(raw);
    if (words.starts_with('#')) continue;
    auto pair = find_assignment(words);
    if (!pair) pair = named.find(words);
    if (!pair) pair = find_entry(words);
    if (pair) file.variables[std::string(pair->first)] = {std::string(pair->second), line, 1};
  }
  return file;
}

}  // namespace gradwire
