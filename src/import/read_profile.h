// Reads a trace of torch.profiler: Kineto's object, the bare array of builds without Kineto, the Python
// exporter's; plain or gzip; of any version from 1.8 on. One pass, in the memory of what is kept.
#pragma once

#include <filesystem>
#include <string>

#include "import/byte_source.h"
#include "import/profile.h"

namespace gradwire {

// What is broken is left out and noted. Throws ConfigError with the file's name in front when nothing in it
// is an event.
Profile read_profile(const std::filesystem::path&);
Profile read_profile(ByteSource&, const std::string& name);

}  // namespace gradwire
