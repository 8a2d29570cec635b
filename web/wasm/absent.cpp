// What a page has not: files, the machine it is opened on, a reader of XML. Each says so.
#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "topo/import/nccl_xml.h"
#include "topo/import/this_machine.h"

namespace gradwire {

std::string read_file(const std::filesystem::path& path, std::uint64_t, Seconds) {
  throw ConfigError(fmt::format("{}: a page reads no files; paste what is in it", path.string()));
}

Machine this_machine(const HostOptions&) {
  throw ConfigError("this: a page does not see the machine it is opened on; name one");
}

Machine machine_from_xml(std::string_view, const std::string& where, const XmlOptions&) {
  throw ConfigError(
      fmt::format("{}: a page does not read NCCL's XML; paste nvidia-smi topo -m instead", where));
}

}  // namespace gradwire
