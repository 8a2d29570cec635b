#include "explain/log_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradwire {

std::string place(const std::string& file, const SaidInLog& said, const std::string& text) {
  return line_of_file(file, said.line, text);
}

std::string place(const NcclLog& log, const LoggedTransport& transport) {
  return line_of_file(log.file, transport.line,
                      fmt::format("via {} ({} connections)", transport.via, transport.times));
}

const SaidInLog* find_variable(const std::map<std::string, SaidInLog>& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

bool is_on(const SaidInLog* said) { return said != nullptr && !said->text.empty() && said->text != "0"; }

const char* link_of(const NcclLog& log) { return log.rccl ? "xGMI" : "NVLink"; }

bool has_own_network(const NcclLog& log) {
  const bool named = !log.network.text.empty() && !log.network.text.starts_with("Socket");
  return named || std::any_of(log.transports.begin(), log.transports.end(), [](const auto& one) {
           return one.transport == Transport::nvlink_network ||
                  (one.transport == Transport::network && !one.via.starts_with("NET/Socket"));
         });
}

bool names_own_network(const std::map<std::string, SaidInLog>& variables) {
  const auto text_of = [&](const char* name) {
    const SaidInLog* const said = find_variable(variables, name);
    return said == nullptr ? std::string() : said->text;
  };
  const std::string provider = text_of("FI_PROVIDER"), plugin = text_of("NCCL_NET_PLUGIN"),
                    libraries = text_of("LD_LIBRARY_PATH");
  const bool set = std::any_of(variables.begin(), variables.end(), [](const auto& variable) {
    return variable.first.starts_with("FI_EFA_") || variable.first.starts_with("NCCL_FASTRAK_") ||
           variable.first.starts_with("NCCL_GPUDIRECTTCPX_");
  });
  return set || (!provider.empty() && provider != "tcp" && provider != "sockets") ||
         (!plugin.empty() && plugin != "none") || libraries.find("amazon/efa") != std::string::npos ||
         libraries.find("aws-ofi-nccl") != std::string::npos;
}

bool goes_over_sockets(const std::vector<NcclLog>& logs, bool several_expected) {
  if (std::any_of(logs.begin(), logs.end(), has_own_network)) return false;
  const auto run = find_joined(logs);  // of different runs all must say it
  const auto all = [&](auto says) { return run ? says(*run) : std::all_of(logs.begin(), logs.end(), says); };
  if (all([](const NcclLog& log) { return log.spans_nodes(); })) return true;
  return several_expected && !all([](const NcclLog& log) { return log.is_of_one_node(); });
}

}  // namespace gradwire
