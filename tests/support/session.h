// A program that a test runs, listens to and signals from outside. A resource; the program ends with it.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "launch/child_process.h"
#include "net/rendezvous/environment.h"

namespace gradwire {

class Session {
 public:
  // In this process's environment with `extra` put over it. Output and errors come through one pipe.
  explicit Session(std::vector<std::string> command, const Environment& extra = {});

  void signal(int number) const;  // to the program alone, not to what it started
  int pid() const { return process_.pid(); }
  const std::string& text() const { return text_; }  // what it said so far

  // Reads on until the text holds `words`; a failure of the test if they don't come.
  void expect(const std::string& words);
  // Waits for something to read, or the end.
  bool says_more_within(Seconds time) const;
  // Reads everything and returns the exit code as a shell gives it; -1 when the program doesn't end.
  int finish();

 private:
  struct Started {
    Fd output;
    ChildProcess process;
  };
  static Started begin(std::vector<std::string> command, const Environment& extra);
  explicit Session(Started started)
      : output_(std::move(started.output)), process_(std::move(started.process)) {}
  bool read_some(Deadline deadline);

  Fd output_;
  ChildProcess process_;
  std::string text_;
};

}  // namespace gradwire
