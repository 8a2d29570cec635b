#include "base/file_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/deadline.h"
#include "base/disk_fault.h"
#include "base/error.h"

namespace gradwire {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw ConfigError(fmt::format("can't read {}: {}", path.string(), why));
}

[[noreturn]] void refuse(const std::filesystem::path& path, int error) {
  const auto text = fmt::format("can't read {}: {}", path.string(), std::generic_category().message(error));
  if (is_fault_of_disk(error)) throw FileError(text);
  throw ConfigError(text);
}

}  // namespace

FileReader::FileReader(std::filesystem::path path, std::uint64_t most_bytes, Seconds silence)
    : path_(std::move(path)),
      silence_(silence),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat file {};
  if (!file_ || ::fstat(file_.get(), &file) != 0) refuse(path_, errno);
  if (S_ISDIR(file.st_mode)) refuse(path_, EISDIR);
  if (S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode)) refuse(path_, "it is a device, not a file");
  if (!S_ISREG(file.st_mode)) return;
  size_ = static_cast<std::uint64_t>(file.st_size);
  if (*size_ > most_bytes)
    refuse(path_, fmt::format("it has {}, more than the {} that are read here", format_bytes(*size_),
                              format_bytes(most_bytes)));
}

// Regular files are always ready; pipes have to say something in time, and to come to an end.
void FileReader::wait() {
  if (size_) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
  const Seconds whole = 6 * silence_ + static_cast<double>(content_.size()) / 1e6;
  if (passed.count() > whole)
    refuse(path_, fmt::format("it is a pipe into which only {} were written in {}",
                              format_bytes(content_.size()), format_seconds(passed.count())));
  pollfd entry{file_.get(), POLLIN, 0};
  const auto deadline = Deadline::after(silence_);
  for (;;) {
    const int ready = ::poll(&entry, 1, deadline.remaining_ms());
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) refuse(path_, errno);
    if (deadline.passed())
      refuse(path_, fmt::format("it is a pipe into which nobody wrote for {}", format_seconds(silence_)));
  }
}

bool FileReader::read_some(std::uint64_t most) {
  char block[1 << 16];
  for (;;) {
    wait();
    const auto got = ::read(file_.get(), block, std::min<std::uint64_t>(most, sizeof block));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) refuse(path_, errno);
    content_.append(block, static_cast<std::size_t>(got));
    return got > 0;
  }
}

// In one piece where the size is known: growing would take twice the memory. Files under /proc have none.
void FileReader::reserve(std::uint64_t bytes) {
  if (!size_) return;
  try {
    content_.reserve(std::min(bytes, *size_));
  } catch (const std::exception&) {
    refuse(path_, fmt::format("there is no memory for its {}", format_bytes(*size_)));
  }
}

const std::string& FileReader::read_to(std::uint64_t bytes) {
  reserve(bytes);
  while (content_.size() < bytes && read_some(bytes - content_.size())) {
  }
  return content_;
}

}  // namespace gradwire
