// Older versions of a file, kept beside it: "run.ckpt" is the newest, "run.ckpt.step-20" what it was at step 20. The newest is
// kept under both names, which are one file. Ordered by when they were written, and only where that is the same by their
// numbers: another run may have begun at 0 again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gradwire {

// Keeps what lies at `path` as that of `step`, and of all that are kept the newest `most`. Throws FileError or ConfigError.
void keep_version(const std::filesystem::path& path, std::int64_t step, int most);

// What is kept beside a file, newest first.
std::vector<std::filesystem::path> list_versions(const std::filesystem::path& path);

}  // namespace gradwire
