#include "train/loop/checkpoint_files.h"

#include <algorithm>

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

// Parts of sharded checkpoints that are kept. Lists are short; whole checkpoints are not, and have no parts.
std::vector<PartEntry> parts_of_versions(const std::filesystem::path& path) {
  constexpr std::uintmax_t kLongestList = 1 << 20;
  std::vector<PartEntry> all;
  std::error_code problem;
  for (const auto& version : list_versions(path)) {
    if (const auto size = std::filesystem::file_size(version, problem); problem || size > kLongestList)
      continue;
    try {
      const auto parts = parts_in(TensorFile(version).notes());
      all.insert(all.end(), parts.begin(), parts.end());
    } catch (const ConfigError&) {
      // It is no list, or damaged: then its parts are of no use.
    }
  }
  return all;
}

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

void remove_leftovers(const std::filesystem::path& path, std::vector<PartEntry> keep) {
  const auto file = path.filename().string();
  const auto kept = parts_of_versions(path);
  keep.insert(keep.end(), kept.begin(), kept.end());
  remove_abandoned(path, [&](const std::string& name) {
    const auto part = find_drafted(name).value_or(name);
    return is_part_name(part, file) &&
           std::none_of(keep.begin(), keep.end(), [&](const PartEntry& entry) { return entry.name == name; });
  });
  remove_abandoned_drafts(path);
}

std::filesystem::path followed(const std::filesystem::path& path) {
  std::error_code none;
  const auto real = std::filesystem::canonical(path, none);
  return none ? path : real;
}

}  // namespace gradwire
