#include "train/loop/checkpoint_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/kept_files.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr const char* kPartsNote = "gradwire.shards";

// Whether a save of ours, also of versions that drew no digits, may have given a file this name.
bool is_part_name(const std::string& name, const std::string& checkpoint) {
  const std::string begin = checkpoint + ".step-";
  if (!name.starts_with(begin)) return false;
  const auto words = split(std::string_view(name).substr(begin.size()), '.');
  const auto of = words.back().find("-of-");
  return (words.size() == 2 || (words.size() == 3 && words[1].size() == 8)) &&
         find_integer<std::int64_t>(words[0]) && of != std::string_view::npos &&
         find_integer<Rank>(words.back().substr(0, of)) && find_integer<Rank>(words.back().substr(of + 4));
}

// Of a file that may be a list. Lists are short; whole checkpoints are not, and have no parts.
void add_parts_in(const std::filesystem::path& file, std::set<std::string>& names) {
  constexpr std::uintmax_t kLongestList = 4 << 20;
  std::error_code problem;
  if (const auto size = std::filesystem::file_size(file, problem); problem || size > kLongestList) return;
  try {
    for (const auto& part : parts_in(TensorFile(file).notes())) names.insert(part.name);
  } catch (const ConfigError&) {
    // It is no list, or damaged: then its parts are of no use.
  }
}

// The parts that a checkpoint and its older versions list now: another job may have saved since this one looked. Parts are
// held until their list is in its place, so a list in which a part is missing that nobody holds will never have it.
class ListedParts {
 public:
  explicit ListedParts(std::filesystem::path path) : path_(std::move(path)) {}

  bool have(const std::string& name) {
    if (const auto now = look(); !looked_ || now != *looked_) read(now);
    return names_.contains(name);
  }

 private:
  using Look = std::array<std::int64_t, 4>;  // another file under the name has another

  // Opened, because a file system on a network answers stat() from what it knew a while ago.
  Look look() const {
    const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat file {};
    if (!fd || ::fstat(fd.get(), &file) != 0) return {};
    return {static_cast<std::int64_t>(file.st_ino), file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
  }

  void read(const Look& now) {
    looked_ = now;
    names_.clear();
    add_parts_in(path_, names_);
    for (const auto& version : list_versions(path_)) add_parts_in(version, names_);
  }

  const std::filesystem::path path_;
  std::optional<Look> looked_;
  std::set<std::string> names_;
};

}  // namespace

std::string part_name(const PartedSave& save, Rank rank) {
  return fmt::format("{}.step-{}.{}.{}-of-{}", save.path.filename().string(), save.step, save.digits, rank,
                     save.ranks);
}

void list_parts(Notes& notes, const std::vector<PartEntry>& parts) {
  std::vector<std::string> lines;
  for (const auto& part : parts) lines.push_back(part.name + " " + part.checksum);
  notes[kPartsNote] = join(lines, "\n");
}

std::vector<PartEntry> parts_in(const Notes& notes) {
  const auto found = notes.find(kPartsNote);
  if (found == notes.end()) return {};
  std::vector<PartEntry> parts;
  for (const auto line : split(found->second, '\n')) {
    const auto space = std::min(line.rfind(' '), line.size());
    const auto name = line.substr(0, space);
    // A name from a file must not lead anywhere else.
    if (name.empty() || name.find('/') != std::string_view::npos)
      throw ConfigError(fmt::format("'{:.60}' is not the name of a part", name));
    parts.push_back({std::string(name), std::string(line.substr(std::min(space + 1, line.size())))});
  }
  return parts;
}

void remove_leftovers(const std::filesystem::path& path, const std::vector<PartEntry>& keep) {
  const auto file = path.filename().string();
  ListedParts listed(path);
  remove_abandoned(path, [&](const std::string& name) {
    const auto part = find_drafted(name).value_or(name);
    return is_part_name(part, file) &&
           std::none_of(keep.begin(), keep.end(),
                        [&](const PartEntry& entry) { return entry.name == name; }) &&
           !listed.have(name);
  });
  remove_abandoned_drafts(path);
}

std::filesystem::path followed(const std::filesystem::path& path) {
  std::error_code none;
  const auto real = std::filesystem::canonical(path, none);
  return none ? path : real;
}

}  // namespace gradwire
