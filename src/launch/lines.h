// The output of many ranks as one: lines with the rank in front, never mixed with each other. Belongs to one
// thread, which never waits for a slow reader.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/units.h"

namespace gradwire {

// Where lines go. Takes them at once and writes them as the descriptor lets it.
class LineSink {
 public:
  LineSink(int descriptor, bool colour) : descriptor_(descriptor), colour_(colour) {}

  void add(Rank rank, std::string_view line);  // without its end
  int descriptor() const { return descriptor_; }
  bool empty() const { return pending_.empty(); }
  // The disk is full or broken, as in "No space left on device"; empty: all lines are where they belong.
  const std::string& problem() const { return problem_; }
  bool full() const { return pending_.size() > 1 << 20; }  // then stop reading from ranks for a while
  // Call when poll() finds the descriptor writable. A reader that is gone takes everything: the ranks go on.
  void write_some();

 private:
  const int descriptor_;
  const bool colour_;
  std::string pending_, problem_;
};

// One rank's output on its way to a sink. Owns the reading end of the pipe.
class LineSource {
 public:
  LineSource(Fd pipe, Rank rank, LineSink& sink) : pipe_(std::move(pipe)), rank_(rank), sink_(&sink) {}

  int descriptor() const { return pipe_.get(); }
  bool open() const { return static_cast<bool>(pipe_); }
  const LineSink& sink() const { return *sink_; }
  bool read_some();  // false when there is nothing to read now
  void close();      // passes on a last line that has no end

 private:
  void pass_on(std::string_view bytes);

  Fd pipe_;
  const Rank rank_;
  LineSink* const sink_;
  std::string begun_;  // of a line whose end is not here yet
};

// Whether output to a descriptor should be coloured: it is a terminal, and nobody said NO_COLOR.
bool wants_colour(int descriptor);

}  // namespace gradwire
