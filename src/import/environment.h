// Variables as `env`, a shell script's exports, /proc/PID/environ or the description of a job in YAML hold them. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "import/nccl_log.h"

namespace gradwire {

// Of YAML that describes a job: the GPUs of a container, and whether it was thought of their shared memory.
struct JobFile {
  bool described = false;  // "apiVersion:" of Kubernetes, "services:" of Compose
  bool on_gpus = false, shares_memory = false;
  int gpus = 0, line = 0;  // the most that a container has, and where it says so
};

struct EnvironmentFile {
  std::string file;
  JobFile job;
  std::map<std::string, SaidInLog> variables;  // name: value and line
};

EnvironmentFile parse_environment(std::string_view text, const std::string& name);

// A job of Kubernetes, a service of Compose, a run of a provider: YAML that sets a variable of NCCL, PyTorch or CUDA.
bool looks_like_job(std::string_view text);

}  // namespace gradwire
