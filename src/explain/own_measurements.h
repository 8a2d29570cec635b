// What people measured on a machine, in what their tools print, as the model of that machine takes it (predict/nccl/own.h): output of
// nccl-tests, p2pBandwidthLatencyTest, nvbandwidth or `gradwire bench --json`, or two columns; told by content. A pure function.
#pragma once

#include <string>
#include <string_view>

#include "predict/nccl/own.h"

namespace gradwire {

// Adds what the text of that file has. `ranks` stands for tables that do not say theirs. Throws ConfigError naming the file.
void add_measurements(std::string_view text, const std::string& file, int ranks, OwnMeasurements&);

}  // namespace gradwire
