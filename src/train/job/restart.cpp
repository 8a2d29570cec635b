#include "train/job/restart.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace gradwire {

std::string file_version(const std::filesystem::path& path) {
  struct stat file {};
  if (path.empty() || ::stat(path.c_str(), &file) != 0) return "";
  return fmt::format("{}:{}:{}.{:09}", file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

TrainOptions prepare_for_restarts(TrainOptions options, int max_restarts) {
  if (max_restarts == 0 || options.checkpoint.empty()) return options;
  options.checkpoint_before = file_version(options.checkpoint);
  // A checkpoint at the end alone would come too late for a run that fails before.
  if (options.checkpoint_every == 0) options.checkpoint_every = std::max(1, options.steps / 10);
  return options;
}

Beginning find_beginning(const TrainOptions& options, int restarts) {
  if (restarts == 0) return {options.resume, "", ""};
  const std::string version = file_version(options.checkpoint);
  if (!version.empty() && version != options.checkpoint_before)
    return {options.checkpoint, "resuming", options.checkpoint};
  const std::string reason = options.checkpoint.empty()
                                 ? "without --checkpoint nothing was kept"
                                 : fmt::format("{} was not written yet", options.checkpoint);
  return {options.resume, "starting over", reason};
}

int restarts_so_far() {
  const char* const text = std::getenv("GRADWIRE_RESTART");
  return text == nullptr ? 0 : std::max(0, find_integer<int>(text).value_or(0));
}

}  // namespace gradwire
