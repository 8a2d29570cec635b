#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <random>
#include <system_error>

#include "base/disk_fault.h"
#include "base/error.h"
#include "base/file_reader.h"
#include "base/held_signal.h"
#include "base/units.h"

namespace gradwire {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view kDraft = ".writing-";
constexpr std::size_t kDraftDigits = 8;

[[noreturn]] void throw_file_error(const char* verb, const Path& path) {
  const int error = errno;
  const auto text =
      fmt::format("can't {} {}: {}", verb, path.string(), std::generic_category().message(error));
  if (is_fault_of_disk(error)) throw FileError(text);
  throw ConfigError(text);
}

Path folder_of(const Path& path) { return path.has_parent_path() ? path.parent_path() : Path("."); }

// After a rename, so that the order of what follows holds also when the power fails. Where the file system
// can't, it can't.
void sync_folder(const Path& path) {
  const Fd folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

std::string random_digits() { return fmt::format("{:08x}", std::uint32_t{std::random_device()()}); }

bool is_private(int mode) { return (mode & 0077) == 0; }

// Unless somebody holds it. Locked until it is gone: whoever has just made it waits for the lock, and sees then that it was removed.
// Whoever held it may have put it to use before it was let go: so it is asked for once more.
void remove_if_abandoned(const Path& path, const std::function<bool(const std::string& name)>& chosen) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && chosen(path.filename().string()))
    ::unlink(path.c_str());
}

}  // namespace

Path place_of(const Path& given) {
  Path path = given;
  std::error_code none;
  for (int links = 0; is_symlink(std::filesystem::symlink_status(path, none)); ++links) {
    if (links == 40)
      throw ConfigError(fmt::format("can't write {}: its links lead in a circle", given.string()));
    const Path target = std::filesystem::read_symlink(path);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  const auto status = std::filesystem::status(path, none);
  if (exists(status) && !is_regular_file(status) && !is_directory(status))
    throw ConfigError(fmt::format("can't write {}: it is a device or a pipe, not a file", given.string()));
  return path;
}

std::string read_file(const Path& path, std::uint64_t most_bytes, Seconds silence) {
  FileReader file(path, most_bytes, silence);
  if (file.read_to(most_bytes + 1).size() > most_bytes)
    throw ConfigError(fmt::format("can't read {}: it has more than the {} that are read here", path.string(),
                                  format_bytes(most_bytes)));
  return file.take();
}

FileDraft::FileDraft(const Path& path, int mode) : path_(place_of(path)) { open(mode); }

// Between making the file and locking it, a process that cleans up may take it for abandoned: then once more. One that is
// replaced was as open to others as somebody wanted it, and stays so.
void FileDraft::open(int mode) {
  for (;;) {
    name_ = path_.string() + std::string(kDraft) + random_digits();
    file_ = Fd(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode)));
    if (!file_ && errno == EEXIST) continue;
    if (!file_) {
      name_.clear();
      throw_file_error("write", path_);
    }
    ::flock(file_.get(), LOCK_EX);  // where there are no locks, nobody will clean up either
    struct stat file {
    }, before{};
    if (::fstat(file_.get(), &file) != 0 || file.st_nlink == 0) continue;
    const mode_t allowed = is_private(mode) ? static_cast<mode_t>(mode) : 0666;
    if (::stat(path_.c_str(), &before) == 0) ::fchmod(file_.get(), before.st_mode & allowed);
    return;
  }
}

FileDraft::~FileDraft() {
  if (!committed_) withdraw();
}

// Beyond a limit on the length of files the system would end the process before it could say so.
void FileDraft::write(std::string_view content) {
  const HeldSignal too_long(SIGXFSZ);
  while (!content.empty()) {
    const auto written = ::write(file_.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_file_error("write", path_);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void FileDraft::commit() {
  if (::fsync(file_.get()) != 0 || ::rename(name_.c_str(), path_.c_str()) != 0)
    throw_file_error("write", path_);
  name_ = path_;
  committed_ = true;
  sync_folder(path_);
}

void FileDraft::withdraw() noexcept {
  if (!name_.empty()) ::unlink(name_.c_str());
  name_.clear();
}

void write_file(const Path& path, std::string_view content, int mode) {
  write_file_parts(path, {&content, 1}, mode);
}

void write_file_parts(const Path& path, std::span<const std::string_view> parts, int mode) {
  FileDraft draft(path, mode);
  for (const auto part : parts) draft.write(part);
  draft.commit();
  remove_abandoned_drafts(path);
}

void remove_abandoned(const Path& path, const std::function<bool(const std::string& name)>& chosen) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(path), ignored))
    if (chosen(entry.path().filename().string()) && entry.is_regular_file(ignored))
      remove_if_abandoned(entry.path(), chosen);
}

std::optional<std::string> find_drafted(const std::string& name) {
  const auto at = name.rfind(kDraft);
  if (at == std::string::npos || name.size() != at + kDraft.size() + kDraftDigits ||
      name.find_first_not_of("0123456789abcdef", at + kDraft.size()) != std::string::npos)
    return std::nullopt;
  return name.substr(0, at);
}

void remove_abandoned_drafts(const Path& path) {
  const Path place = place_of(path);
  const auto file = place.filename().string();
  remove_abandoned(place, [&](const std::string& name) { return find_drafted(name) == file; });
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
