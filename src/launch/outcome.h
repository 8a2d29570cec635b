// What became of a rank. A value.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/units.h"

namespace gradwire {

struct Outcome {
  enum class Kind {
    ok,
    threw,    // its function threw
    failed,   // its function says so: a test's expectation, for instance
    exited,   // with `code`, before its function returned; or a program's code other than 0
    killed,   // by the signal `code`
    stopped,  // by the signal `code`, and never continued
    hung      // still running when time was up
  };

  Rank rank = 0;
  Kind kind = Kind::ok;
  std::string error;  // of what was thrown: "PeerLost", "Timeout", "std::exception" and so on
  std::string text;   // of what was thrown: what()
  Rank peer = -1;     // who was lost, when PeerLost was thrown
  int code = 0;

  bool ok() const { return kind == Kind::ok; }
};

std::string describe(
    const Outcome&);  // "rank 1 threw PeerLost: rank 0 is gone", "rank 1 was killed by SIGSEGV"
std::string describe_end(const Outcome&);  // the same without the rank

// What a shell would make of it: 0, the exit code, or 128 and the signal.
int exit_code_of(const Outcome&);

// Calls the function and catches whatever it throws.
Outcome run_guarded(Rank rank, const std::function<void()>& function);

// Of a process, by what waitpid() says.
Outcome outcome_of_process(Rank rank, int wait_status);

// As bytes from one process to another; at most kLongestReport, so that a pipe takes them at once.
inline constexpr std::size_t kLongestReport = 4096;
std::string encode(const Outcome&);
Outcome decode_outcome(std::string_view bytes);  // throws TransportError when cut short

}  // namespace gradwire
