// What `gradwire train` is told on its command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "train/job/options.h"

namespace gradwire {

struct TrainFlags {
  LaunchFlags launch;
  TrainOptions train;
  TrainWords words;
  std::string on, real, interval;
  std::vector<std::string> measured;
  std::map<std::string, std::string> nccl;  // its variables
  double step_ms = 0;
  bool ranks_given = false, split = false;
};

// The flags and their help; `flags` must outlive the parsing.
void add_train_flags(CLI::App& verb, TrainFlags& flags);

}  // namespace gradwire
