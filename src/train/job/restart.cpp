#include "train/job/restart.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/kept_files.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr const char* kRestart = "GRADWIRE_RESTART";  // our launcher sets it

// What lay at a checkpoint and beside it.
std::string versions_at(const std::filesystem::path& checkpoint) {
  std::string all = file_version(checkpoint);
  for (const auto& kept : list_versions(checkpoint)) all += " " + file_version(kept);
  return all;
}

// The newest that is whole among a checkpoint and those kept beside it, without those that are `before`. One that
// nothing else is kept beside is left to who loads it to judge.
Beginning newest_whole(const std::string& checkpoint, const std::string& before,
                       const FindFault& find_fault) {
  const auto kept = list_versions(checkpoint);
  if (kept.empty()) return {checkpoint, BeginningKind::as_asked, checkpoint};
  std::vector<std::filesystem::path> candidates = {checkpoint};
  candidates.insert(candidates.end(), kept.begin(), kept.end());
  std::string faults;
  for (const auto& candidate : candidates) {
    const auto version = file_version(candidate);
    if (version.empty()) faults += fmt::format("{} is not there; ", candidate.string());
    if (version.empty() || before.find(version) != std::string::npos) continue;
    const auto fault = find_fault(candidate);
    if (!fault)
      return {candidate.string(), faults.empty() ? BeginningKind::as_asked : BeginningKind::resuming,
              faults + candidate.string()};
    faults += *fault + "; ";
  }
  return {checkpoint, BeginningKind::as_asked, checkpoint};
}

}  // namespace

std::string file_version(const std::filesystem::path& path) {
  struct stat file {};
  if (path.empty() || ::stat(path.c_str(), &file) != 0) return "";
  return fmt::format("{}:{}:{}.{:09}", file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

TrainOptions prepare_for_restarts(TrainOptions options, int max_restarts) {
  options.max_restarts = max_restarts;
  if (options.checkpoint.empty()) return options;
  options.checkpoint_before = versions_at(options.checkpoint);
  if (max_restarts == 0) return options;
  // A checkpoint at the end alone would come too late for a run that fails before.
  if (options.checkpoint_every == 0 && options.checkpoint_seconds == 0)
    options.checkpoint_every = std::max(1, options.steps / 10);
  return options;
}

Beginning find_beginning(const TrainOptions& options, int restarts, const FindFault& find_fault) {
  if (restarts == 0 && options.resume.empty()) return {};
  if (restarts == 0) return newest_whole(options.resume, "", find_fault);
  if (has_saved(options)) {
    Beginning beginning = newest_whole(options.checkpoint, options.checkpoint_before, find_fault);
    beginning.kind = BeginningKind::resuming;
    return beginning;
  }
  const std::string reason = options.checkpoint.empty()
                                 ? "without --checkpoint nothing was kept"
                                 : fmt::format("{} was not written yet", options.checkpoint);
  return {options.resume, BeginningKind::starting_over, reason};
}

bool has_saved(const TrainOptions& options) {
  const std::string version = file_version(options.checkpoint);
  return !version.empty() && options.checkpoint_before.find(version) == std::string::npos;
}

std::string how_to_go_on(const TrainOptions& options, const std::string& command) {
  const std::string by_itself =
      options.max_restarts > 0 ? "" : "; with --max-restarts 3 a run does so by itself";
  if (has_saved(options))
    return fmt::format("{} is there to go on from{}:\n  {}", options.checkpoint, by_itself, command);
  const std::string anew = options.resume.empty() ? "from step 0" : fmt::format("from {}", options.resume);
  if (!options.checkpoint.empty())
    return fmt::format(
        "{} was not written yet, so the same command begins {} again; --checkpoint-every 10 or 30s saves "
        "sooner, "
        "and --resume goes on from there{}",
        options.checkpoint, anew, by_itself);
  return fmt::format(
      "nothing was saved, so the same command begins {} again; --checkpoint FILE --checkpoint-every 10 saves "
      "as it "
      "goes, and --resume FILE goes on from there{}",
      anew, by_itself);
}

int code_of_unwritten() { return std::getenv(kRestart) == nullptr ? 1 : kUnwritten; }

int restarts_so_far() {
  const char* const text = std::getenv(kRestart);
  return text == nullptr ? 0 : std::max(0, find_integer<int>(text).value_or(0));
}

}  // namespace gradwire
