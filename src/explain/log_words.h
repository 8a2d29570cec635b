// What the rules about logs share: where something was said, and which variables were set. For those rules alone.
#pragma once

#include <map>
#include <string>

#include "explain/case_file.h"

namespace gradwire {

std::string place(const std::string& file, const SaidInLog& said, const std::string& text);
std::string place(const NcclLog& log, const LoggedTransport& transport);

const SaidInLog* find_variable(const std::map<std::string, SaidInLog>& variables, const std::string& name);
bool is_on(const SaidInLog* said);                                        // set, and not to 0
bool blocks_peers(const NcclLog&);                                        // by its own words
bool turns_peers_off(const std::map<std::string, SaidInLog>& variables);  // of all GPUs

struct SetVariables {
  const std::string& file;
  const std::map<std::string, SaidInLog>& of;
  bool several_nodes;
  bool alone;                // a GPU without another in its node
  bool in_code = false;      // a script sets them
  std::string misread = {};  // the word that an old NCCL took for the level 0
};

void check_variables(const SetVariables&, Diagnosis&);  // all of NCCL's, wherever they are set
void check_network_variables(const SetVariables&, std::vector<Finding>& findings);

// `run` is all of the run's logs in one, where they are of one run; else the log itself.
void check_network(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis);

}  // namespace gradwire
