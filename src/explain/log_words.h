// What the rules about logs share: where something was said, and which variables were set. For those rules alone.
#pragma once

#include <map>
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
// Whether sockets carry what goes between nodes, or would: what logs say goes before how many nodes somebody expects.
bool goes_over_sockets(const std::vector<NcclLog>& logs, bool several_expected);

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

}  // namespace gradwire
