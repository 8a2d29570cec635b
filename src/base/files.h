// Whole files in and out. Writing is atomic: a reader sees the old file or the new one, also when the writer
// is killed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace gradwire {

std::string read_file(
    const std::filesystem::path& path);  // throws ConfigError naming the path and the reason
void write_file(const std::filesystem::path& path, std::string_view content, int mode = 0644);
// The parts one after another: for what is too large to be joined in memory.
void write_file_parts(const std::filesystem::path& path, std::span<const std::string_view> parts,
                      int mode = 0644);

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
