// The files of a checkpoint beside the one it is named after: the parts that ranks write, the list of them in the notes of
// the named file, and what may be removed. For saving and loading; not installed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "train/loop/tensor_file.h"

namespace gradwire {

// A part of a sharded checkpoint, as the file that lists them names it.
struct PartEntry {
  std::string name, checksum;
};

// One save of a checkpoint by several ranks.
struct PartedSave {
  std::filesystem::path path = {};
  std::int64_t step = 0;
  std::string digits = {};  // drawn anew for each save
  int ranks = 1;
};
std::string part_name(const PartedSave& save, Rank rank);

// In the notes of the named file, and back. Throws ConfigError for a name that leads elsewhere.
void list_parts(Notes& notes, const std::vector<PartEntry>& parts);
std::vector<PartEntry> parts_in(const Notes& notes);

// The order of gradients in the notes of the named file: rank 0's word, parts have none.
inline constexpr const char* kOrderNote = "gradwire.gradient_order";

// What runs that were killed left beside a checkpoint, and the parts of the one it has replaced. Those in `keep` stay, and
// those that the checkpoint or an older version lists when it comes to them.
void remove_leftovers(const std::filesystem::path& path, const std::vector<PartEntry>& keep);

// Parts lie beside the file itself, wherever a link leads.
std::filesystem::path followed(const std::filesystem::path& path);

// What the hook of the gradients keeps, in a file.
inline constexpr std::string_view kHookPrefix = "gradient_hook.";
inline std::string hook_name(const std::string& name) { return std::string(kHookPrefix) + name; }

// Calls the function and puts the path in front of what it complains about.
template <typename Function>
auto speaking_of(const std::filesystem::path& path, const Function& function) {
  try {
    return function();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace gradwire
