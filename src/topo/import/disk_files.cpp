#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestMachine = 16 << 20;

class DiskFiles : public NamedFiles {
 public:
  bool has(std::string_view name) const override {
    std::error_code ignored;
    return !name.empty() && fs::exists(fs::path(name), ignored) && !is_folder(name);
  }

  bool is_folder(std::string_view name) const override {
    std::error_code ignored;
    return fs::is_directory(fs::path(name), ignored);
  }

  std::string read(std::string_view name) const override {
    std::error_code ignored;
    if (!fs::is_regular_file(fs::path(name), ignored))
      throw ConfigError(fmt::format("{}: this is not a file", name));
    if (fs::file_size(fs::path(name), ignored) > kLargestMachine)
      throw ConfigError(fmt::format("{}: over 16 MiB: this describes no machine", name));
    return read_file(name);
  }
};

}  // namespace

const NamedFiles& files_on_disk() {
  static const DiskFiles files;
  return files;
}

Machine find_machine(std::string_view on) { return find_machine(on, files_on_disk()); }

}  // namespace gradwire
