// Where a run of `gradwire train` begins that --max-restarts has started again: at the newest checkpoint it
// has written itself, never at one that lay there before. Without torch.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "train/job/options.h"

namespace gradwire {

// Tells the file that is there now from any that replaces it; empty where there is none. Writing a checkpoint
// replaces the file.
std::string file_version(const std::filesystem::path& path);

// Fills in what a run must know of the checkpoint: what lies there before it, how often it may be started again, and then how
// often to write one where nobody said.
TrainOptions prepare_for_restarts(TrainOptions options, int max_restarts);

// How a run begins: as it was asked to, or otherwise, after a restart or because another checkpoint than was named is taken.
enum class BeginningKind : std::uint8_t { as_asked, resuming, starting_over };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<BeginningKind> = {"", "resuming", "starting over"};

struct Beginning {
  std::string resume = {};  // the checkpoint to go on from; empty: from step 0
  BeginningKind kind = BeginningKind::as_asked;
  std::string why = {};  // what more there is to say of it
};

// What is wrong with a checkpoint; nothing where it is whole.
using FindFault = std::function<std::optional<std::string>(const std::filesystem::path&)>;

// `restarts` is how often the run was started again. Looks at the disk of the host it is called on. Where older
// checkpoints are kept beside one that is to be gone on from, the newest that is whole is taken.
Beginning find_beginning(const TrainOptions& options, int restarts, const FindFault& find_fault);

// Whether the run has written its checkpoint since prepare_for_restarts(). Looks at the disk as find_beginning() does.
bool has_saved(const TrainOptions& options);

// What is left of a run that failed for good and how to go on, for people. `command` is what was typed, with --resume of the checkpoint.
std::string how_to_go_on(const TrainOptions& options, const std::string& command);

// With what a rank exits that has trained and told all, and found no room for a file of that: starting the run again would have
// nothing left to do. Our launcher is told so by a code of its own (EX_IOERR); whoever else has started the rank gets 1.
constexpr int kUnwritten = 74;
int code_of_unwritten();

// How often the launcher has started this process's run again, from GRADWIRE_RESTART.
int restarts_so_far();

}  // namespace gradwire
