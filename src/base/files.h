// Whole files in and out. Writing is atomic: a reader sees the old file or the new one, also when the writer
// is killed, and what a killed writer left is removed by the next one.
//
// Reading never waits for ever and never without bound: a device is refused, a pipe that stays silent or drips is
// given up, and a file larger than the reader can use is named before it fills the memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/units.h"

namespace gradwire {

inline constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;  // of checkpoints: as the disk has it
inline constexpr std::uint64_t kLargestTrace = std::uint64_t{1} << 31;
inline constexpr std::uint64_t kLargestText = 64 << 20;  // what people write, and small reports of programs

// Throws ConfigError naming the path and the reason. A pipe may be silent for so long, and take six times that in all.
std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes = kLargestText,
                      Seconds silence = 10);

// Throws ConfigError where the place is wrong, FileError where the disk is full or broken. `mode` less what the
// process's umask takes.
void write_file(const std::filesystem::path& path, std::string_view content, int mode = 0666);
// The parts one after another: for what is too large to be joined in memory.
void write_file_parts(const std::filesystem::path& path, std::span<const std::string_view> parts,
                      int mode = 0666);

// A file on its way: under a name of its own ("run.ckpt.writing-1f09a2b3") until commit() puts it in place.
// Locked as long as the object lives, also after commit(): so nobody takes it for one that a killed process
// left behind. Belongs to one thread.
class FileDraft {
 public:
  explicit FileDraft(const std::filesystem::path& path, int mode = 0666);
  ~FileDraft();  // removes the draft, unless it was committed
  FileDraft(const FileDraft&) = delete;
  FileDraft& operator=(const FileDraft&) = delete;

  void write(std::string_view content);
  void commit();             // on the disk and in its place when it returns
  void withdraw() noexcept;  // removes it, committed or not

 private:
  void open(int mode);

  const std::filesystem::path path_;
  std::filesystem::path name_;  // under which it is found now; empty when it is removed
  bool committed_ = false;
  Fd file_;
};

// Where writing to a path leads: links are followed, also those to nothing yet. Throws ConfigError for a
// device, a pipe, or links that lead in a circle.
std::filesystem::path place_of(const std::filesystem::path& path);

// The name of the file that `name` is a draft of, if it is one's.
std::optional<std::string> find_drafted(const std::string& name);

// Removes the drafts of a file whose writers are dead, and nothing else; what can't be removed stays.
void remove_abandoned_drafts(const std::filesystem::path& path);
// Of the files beside `path` those that no living FileDraft holds and whose name `chosen` wants, also when asked again then.
void remove_abandoned(const std::filesystem::path& path,
                      const std::function<bool(const std::string& name)>& chosen);

// A directory of its own under the system's place for temporary files, removed with everything in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace gradwire
