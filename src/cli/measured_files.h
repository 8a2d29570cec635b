// `--measured FILE`: what people measured on a machine, read from what their tools print, moves the model of it.
#pragma once

#include <string>
#include <vector>

#include "predict/nccl/own.h"

namespace CLI {
class App;
}

namespace gradwire {

void add_measured_flag(CLI::App& verb, std::vector<std::string>& files);

// Output of nccl-tests, p2pBandwidthLatencyTest, nvbandwidth or `gradwire bench --json`, or two columns; told by
// content. `ranks` stands for tables that do not say theirs. Throws ConfigError naming the file.
OwnMeasurements read_measured(const std::vector<std::string>& files, int ranks);

// Moves the machine and notes in it what that narrowed. Nothing happens without files.
void apply_measured(Machine&, const std::vector<std::string>& files);

// The files of each of several machines: FILE is the first one's, 2=FILE the second's. Throws ConfigError.
void apply_measured(std::vector<Machine>&, const std::vector<std::string>& files);

}  // namespace gradwire
