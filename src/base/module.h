// Modules: the parts of Gradwire that need a library not everybody has (Gloo, an MPI, NCCL, hwloc), each a
// shared object libgradwire-NAME.so that is opened when it is asked for. So a program that predicts starts on
// a machine that has none of them.
//
// A module is looked for in lib/gradwire beside the program or one folder up, then where Gradwire was to be
// installed, then where the system looks for libraries; or only in $GRADWIRE_MODULES, if that is set. It has
// its own copy of what it uses of Gradwire; objects and exceptions of Gradwire's types cross its border,
// because both sides are of one version, which is checked. Once open it stays open; the system keeps the
// books, so asking again is cheap. Any thread may call.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace gradwire {

struct ModuleSpec {
  std::string name;         // "gloo"
  std::string not_built;    // the whole error when there is no such module
  std::string install;      // what to do when its libraries are not there: "apt-get install libgloo-dev"
  bool for_others = false;  // its libraries open plugins that count on finding them
};

std::optional<std::filesystem::path> find_module(const std::string& name);

// The address of what the module calls `symbol`. Throws ConfigError when the module is not there, can't be
// opened or is of another version of Gradwire.
void* open_module(const ModuleSpec& module, const char* symbol);

// The same for a function, as in module_function<Make>(kGloo, "gradwire_make_gloo")(world).
template <typename Function>
Function* module_function(const ModuleSpec& module, const char* symbol) {
  return reinterpret_cast<Function*>(open_module(module, symbol));
}

}  // namespace gradwire
