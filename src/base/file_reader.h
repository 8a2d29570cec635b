// A file that is read piece by piece, so that its beginning can be judged before the rest fills the memory. By the rules
// of read_file() (files.h): no devices, no pipe that stays silent or drips. Belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/units.h"

namespace gradwire {

class FileReader {
 public:
  // Throws ConfigError naming the path and the reason, as read_to() does; also for a file that has more than
  // `most_bytes`. A pipe may be silent for so long, and take six times as long and a second for each MB in all.
  FileReader(std::filesystem::path path, std::uint64_t most_bytes, Seconds silence = 10);

  std::optional<std::uint64_t> size() const { return size_; }  // when it was opened; of a pipe nobody knows
  // What was read so far: `bytes` of them, or all there are.
  const std::string& read_to(std::uint64_t bytes);
  std::string take() { return std::move(content_); }

 private:
  void wait();
  bool read_some(std::uint64_t most);  // false: it has ended
  void reserve(std::uint64_t bytes);

  const std::filesystem::path path_;
  const Seconds silence_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Fd file_;
  std::optional<std::uint64_t> size_;
  std::string content_;
};

}  // namespace gradwire
