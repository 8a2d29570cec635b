// Something wrong with a run or a machine: what, how it is known, what it costs, how to mend it. Rules are
// numbered as in docs/explain.md. A value.
#pragma once

#include <cstdint>
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

// That GPUs of a node do not reach each other as they could, or why. Rules that look at all findings together go by this and
// by the marks below, never by the numbers of rules.
enum class Apart : std::uint8_t {
  no,          // it is about something else
  narrowed,    // they do, by less than there is, or by the network
  hidden,      // processes do not see each other's GPUs or memory
  refused,     // by the driver or the board
  turned_off,  // by a variable
  seen         // they talk through host memory, and nothing here says why
};

struct Finding {
  std::string rule;  // "R06"
  Severity severity = Severity::medium;
  Certainty sure = Certainty::certain;
  std::string what;
  std::string evidence;           // "run.log:17: NCCL_P2P_LEVEL set to LOC"
  std::optional<double> cost_ms;  // of a step; absent: there is not enough to price it
  std::string cost_note;          // what the cost rests on, or what would price it
  std::string fix;                // a command or a line of code
  Apart apart = Apart::no;
  bool of_communication = false;  // its cost is communication that nothing hides
  bool slow = false;              // a rate is below what the machine should give
  bool goes_on = false;           // the run loses by it on its links while it goes on
  bool ends_the_run = false;      // nothing to price: the run died of it, or of what it is a sign of
};

}  // namespace gradwire
