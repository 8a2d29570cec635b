// What the rules about logs share: where something was said, and which variables were set. For those rules alone.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "explain/case_file.h"
#include "explain/verdict.h"

namespace gradwire {

std::string place(const std::string& file, const SaidInLog& said, const std::string& text);
std::string place(const NcclLog& log, const LoggedTransport& transport);

const SaidInLog* find_variable(const std::map<std::string, SaidInLog>& variables, const std::string& name);
bool is_on(const SaidInLog* said);                                        // set, and not to 0
bool blocks_peers(const NcclLog&);                                        // by its own words
bool turns_peers_off(const std::map<std::string, SaidInLog>& variables);  // of all GPUs

// What joins GPUs of a node directly, besides PCIe.
const char* link_of(const NcclLog&);  // "NVLink", "xGMI"

// One that is not TCP: InfiniBand's, what a plugin brings (EFA, FasTrak), NVLink between nodes.
bool has_own_network(const NcclLog&);
// The same by what is set for it: EFA's provider, or a plugin's own variables.
bool names_own_network(const std::map<std::string, SaidInLog>& variables);
// Whether sockets carry what goes between nodes, or would: what logs say goes before how many nodes somebody expects.
bool goes_over_sockets(const std::vector<NcclLog>& logs, bool several_expected);

// What a finding about ranks that wait says where they said in which calls.
void blame_stuck_calls(const NcclLog& run, Finding&);
// What a finding about a death says where the log itself tells more: what NCCL warned of before it gave up.
void suit_to_log(const NcclLog&, Finding&);
// A log that ends with NCCL's own failure to start, or with a traceback behind a warning, and nobody's word of it. Nothing: it
// did not.
std::optional<Finding> find_failed_start(const NcclLog&);

void check_members(const std::vector<NcclLog>& logs, Diagnosis& diagnosis);  // which ranks came

// NVLink by a log alone: whether NCCL says that GPUs have it, by its ways, chunks or channels; and what else is known of a
// machine, with what a log of a run there tells. The matrix, which may be null, is of several GPUs.
bool says_nvlink(const NcclLog&);
NvlinkAnswer answer_from_log(const NcclLog&, Answered known, const TopoMatrix*);

// What is known of NVLink, and what tables, peers and the driver's own words tell where that is nothing.
NvlinkAnswer answer_from_signs(const CaseFile&, NvlinkAnswer known);

void hint_at_shared_memory(const EnvironmentFile&, std::vector<Finding>& hints);  // of a job in YAML

struct SetVariables {
  const std::string& file;
  const std::map<std::string, SaidInLog>& of;
  bool over_sockets;             // between nodes
  bool alone;                    // a GPU without another in its node
  bool in_code = false;          // a script sets them
  Reach reach = Reach::unknown;  // how many nodes the run has
  bool ways_known = false;       // connections between its GPUs are in the log
  std::string misread = {};      // the word that an old NCCL took for the level 0
  const char* link = "NVLink";   // see link_of()
};

void check_variables(const SetVariables&, Diagnosis&);         // all of NCCL's, wherever they are set
void check_costly_variables(const SetVariables&, Diagnosis&);  // also those of CUDA and PyTorch
void check_network_variables(const SetVariables&, std::vector<Finding>& findings);

// `run` is all of the run's logs in one, where they are of one run; else the log itself.
void check_network(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis);
void check_socket_network(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis);

}  // namespace gradwire
