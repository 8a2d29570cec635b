#include "base/module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr const char* kVersionSymbol = "gradwire_module_version";      // see module_version.cpp
constexpr const char* kNotThere = ": cannot open shared object file";  // in the loader's words

std::string file_of(const std::string& module) { return "libgradwire-" + module + ".so"; }

std::optional<std::filesystem::path> given_folder() {
  const char* folder = std::getenv("GRADWIRE_MODULES");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

std::vector<std::filesystem::path> module_folders() {
  if (const auto only = given_folder()) return {*only};
  std::error_code ignored;  // without /proc the other places are left
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {program / "lib/gradwire", program.parent_path() / "lib/gradwire", GRADWIRE_MODULE_FOLDER};
}

// Where the loader itself looks: LD_LIBRARY_PATH, what a program was linked to look in, the system's folders.
// A module that is there and can't be opened is found too: open_module() says why.
std::optional<std::filesystem::path> find_by_loader(const std::string& file) {
  if (given_folder()) return std::nullopt;
  if (dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr &&
      std::string(dlerror()).starts_with(file + kNotThere))
    return std::nullopt;
  return file;
}

[[noreturn]] void refuse_unopened(const ModuleSpec& module, const std::string& file,
                                  const std::string& reason) {
  const auto missing = reason.find(kNotThere);
  if (missing == std::string::npos) throw ConfigError(fmt::format("{} can't be opened: {}", file, reason));
  throw ConfigError(fmt::format("{} needs {}, which is not installed: {}", file_of(module.name),
                                reason.substr(0, missing), module.install));
}

void check_version(void* handle, const std::string& file) {
  const auto* version = static_cast<const char* const*>(dlsym(handle, kVersionSymbol));
  if (version == nullptr) throw ConfigError(fmt::format("{} is not a module of Gradwire", file));
  if (std::string(*version) != GRADWIRE_VERSION)
    throw ConfigError(fmt::format("{} is of Gradwire {}, and this is {}: install both anew", file, *version,
                                  GRADWIRE_VERSION));
}

}  // namespace

std::optional<std::filesystem::path> find_module(const std::string& name) {
  for (const auto& folder : module_folders())
    if (std::error_code ignored; std::filesystem::exists(folder / file_of(name), ignored))
      return folder / file_of(name);
  return find_by_loader(file_of(name));
}

// Everything is bound at once, so that what is missing is said here and not in the middle of a call.
void* open_module(const ModuleSpec& module, const char* symbol) {
  const auto path = find_module(module.name);
  if (!path) throw ConfigError(module.not_built);
  void* const handle = dlopen(path->c_str(), RTLD_NOW | (module.for_others ? RTLD_GLOBAL : RTLD_LOCAL));
  if (handle == nullptr) refuse_unopened(module, path->string(), dlerror());
  check_version(handle, path->string());
  void* const found = dlsym(handle, symbol);
  if (found == nullptr)
    throw ConfigError(fmt::format("{} has no {}: install it anew", path->string(), symbol));
  return found;
}

}  // namespace gradwire
