// Something wrong with a run or a machine: what, how it is known, what it costs, how to mend it. Rules are
// numbered as in docs/explain.md. A value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

enum class Severity { high, medium, low };
enum class Certainty {
  certain,  // the evidence says it
  likely,   // the usual reason for what the evidence says
};
std::string_view to_string(Severity);
std::string_view to_string(Certainty);

struct Finding {
  std::string rule;  // "R06"
  Severity severity = Severity::medium;
  Certainty sure = Certainty::certain;
  std::string what;
  std::string evidence;           // "run.log:17: NCCL_P2P_LEVEL set to LOC"
  std::optional<double> cost_ms;  // of a step; absent: there is not enough to price it
  std::string cost_note;          // what the cost rests on, or what would price it
  std::string fix;                // a command or a line of code
  bool turns_peers_off = false;   // why GPUs of a node do not reach each other
  bool of_communication = false;  // its cost is communication that nothing hides
};

}  // namespace gradwire
