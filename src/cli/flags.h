// Flags that several verbs share, and what comes of them.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "launch/launcher.h"
#include "predict/nccl/settings.h"
#include "predict/parallel/search.h"
#include "predict/step/options.h"
#include "report/page/page_data.h"

namespace gradwire {

// The options of a training step: of `compare`, `page` and `train --on`. What the environment tells NCCL is one of them.
void add_step_flags(CLI::App& verb, StepFlags&);

// --html FILE: what a verb found, as a page to open.
CLI::Option* add_html_flag(CLI::App& verb, std::string& file);

// "gradwire compare gpt2 --on dgx-a100": as it was typed, without an option and its value (or with another value for it).
std::string typed_command(std::string_view without = "--html", std::string_view instead = "");

// Writes the page, with the command as it was typed where it has none, and says so on stderr. Nothing when `file` is
// empty.
void write_html(const std::string& file, PageData page);

// --nccl 2.26: which NCCL runs on the machines, among what the environment tells it (NCCL_VERSION in `variables`, which begin as
// the environment has them).
void add_nccl_flag(CLI::App& verb, std::map<std::string, std::string>& variables);

// The sizes of a layout as flags: those of `plan`, and of `compare` where a model is split.
struct PlanSizes {
  int dp = 0, tp = 0, pp = 0, micro_batch = 0, chunks = 0, experts = 0, shard = -1;
  double memory = 0;  // GiB; 0: what can be used of a GPU
  std::string recompute;
  bool offload = false;
  bool any() const;  // whether one is given
};

void add_plan_sizes(CLI::App& verb, PlanSizes& sizes);
void apply(const PlanSizes&, PlanQuestion&);  // throws ConfigError

// The flags of every verb that starts ranks: how many, on which nodes, how they meet. Turned into the
// launcher's options.
struct LaunchFlags {
  int ranks = 1, node = 0, max_restarts = 0;
  std::string nodes = "1";  // or a range, "1:4"
  std::string master, secret_file, interface, log_dir, timeout, grace;
  bool trust_network = false;
};

// `program` is what each node runs: "gradwire run".
void add_launch_flags(CLI::App& verb, LaunchFlags& flags, const std::string& program);

// Without a command. Throws ConfigError.
LaunchOptions launch_options(const LaunchFlags& flags);

// `--measured FILE`: what people measured on a machine, read from what their tools print, moves the model of it.
void add_measured_flag(CLI::App& verb, std::vector<std::string>& files);

// Moves the machine by what stands in them. Nothing happens without files. Throws ConfigError naming the file.
void apply_measured(Machine&, const std::vector<std::string>& files, const NcclSettings&);

// The files of each of several machines: FILE is the first one's, 2=FILE the second's. Throws ConfigError.
void apply_measured(std::vector<Machine>&, const std::vector<std::string>& files, const NcclSettings&);

// What --on names, moved so, under these very names. Throws ConfigError.
std::vector<Machine> measured_machines(const std::vector<std::string>& on,
                                       const std::vector<std::string>& files,
                                       const NcclSettings& = nccl_settings_here());

}  // namespace gradwire
