#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/fd.h"

namespace gradwire {
namespace {

[[noreturn]] void throw_file_error(const char* verb, const std::filesystem::path& path) {
  throw ConfigError(
      fmt::format("can't {} {}: {}", verb, path.string(), std::generic_category().message(errno)));
}

void write_all(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const auto written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_file_error("write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Links stay, and what they lead to is replaced; a device or a pipe must not be.
std::filesystem::path place_of(const std::filesystem::path& path) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  if (!exists(status)) return path;
  if (!is_regular_file(status) && !is_directory(status))
    throw ConfigError(fmt::format("can't write {}: it is a device or a pipe, not a file", path.string()));
  return is_symlink(path) ? canonical(path) : path;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw_file_error("read", path);
  std::string content;
  char block[1 << 16];
  for (;;) {
    const auto got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path);
    if (got == 0) return content;
    content.append(block, static_cast<std::size_t>(got));
  }
}

void write_file(const std::filesystem::path& path, std::string_view content, int mode) {
  write_file_parts(path, {&content, 1}, mode);
}

void write_file_parts(const std::filesystem::path& given, std::span<const std::string_view> parts, int mode) {
  const auto path = place_of(given);
  std::string temporary = path.string() + ".XXXXXX";
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) throw_file_error("write", path);
  try {
    for (const auto part : parts) write_all(fd.get(), part, path);
    if (::fchmod(fd.get(), static_cast<mode_t>(mode)) != 0 || ::fsync(fd.get()) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0)
      throw_file_error("write", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "gradwire-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw_file_error("create", name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gradwire
