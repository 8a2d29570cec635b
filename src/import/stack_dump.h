// Where the threads of a process stand, as py-spy dump, Python's faulthandler, gdb's "thread apply all bt" or the traceback of a
// program that was interrupted tell it: what people take of a run that hangs. Anything may stand around it. A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

// What a thread does, by the calls it is in; the first of these that one of its calls tells counts.
enum class Doing : std::uint8_t {
  service,     // of a library, and always there: NCCL's proxies, PyTorch's watchdogs
  meeting,     // waits for other ranks to come, before any collective
  collective,  // in a call that all ranks have to make
  loading,     // waits for a batch
  on_gpu,      // waits for its GPU, which may wait for other ranks
  backward,    // lets autograd work, whose threads have stacks of their own
  other
};

struct DumpedThread {
  std::string name;  // "MainThread"; empty: not said
  Doing doing = Doing::other;
  std::string call;  // that tells so, else the innermost: "all_reduce"
  std::string file;  // of it; empty: not said
  int line = 0;      // of the text, where it stands
};

struct DumpedProcess {
  std::string name;                   // "process 4711"; empty: not said
  std::vector<DumpedThread> threads;  // those with any call
  // What the process waits in: of its threads the one whose doing comes first, services left out. Null: it has none.
  const DumpedThread* find_place() const;
};

struct StackDump {
  std::string file;
  std::vector<DumpedProcess> processes;
  bool crashed = false;  // written as the process died, not as it hung
};

bool looks_like_stack_dump(std::string_view text);
StackDump parse_stack_dump(std::string_view text, const std::string& name);

}  // namespace gradwire
