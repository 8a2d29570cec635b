// The files that a machine's name may mean: those on disk, or texts that were pasted into a page under a name.
#pragma once

#include <string>
#include <string_view>

namespace gradwire {

class NamedFiles {
 public:
  virtual ~NamedFiles() = default;
  virtual bool has(std::string_view name) const = 0;
  virtual bool is_folder(std::string_view name) const = 0;
  virtual std::string read(std::string_view name) const = 0;  // throws ConfigError
};

const NamedFiles& files_on_disk();

}  // namespace gradwire
