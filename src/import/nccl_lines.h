// Kinds of lines in a log of NCCL that are read by themselves: connections, and what it sees of the machine. Each adds to the
// log what a message (all behind "NCCL INFO ") says; other messages are left alone. For readers of logs alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "import/nccl_log.h"

namespace gradwire {

constexpr std::size_t kMostKeptOfLog = 1000, kMostPairsOfLog = 1 << 16, kLongestLogText = 500;

// What follows `word`, without blanks; nothing if it is not there.
std::optional<std::string_view> find_after(std::string_view text, std::string_view word);
std::optional<int> number_after(std::string_view text, std::string_view word);
std::string_view first_word(std::string_view text);
std::string shortened(std::string_view text);

// Once more where it was said already.
void say(SaidInLog& said, std::string_view text, int line);
void say_once(std::optional<SaidInLog>& said, std::string_view text, int line);

// "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM": logs have a line of each channel of each pair, in few words that differ. Borrows
// the log.
class Connections {
 public:
  explicit Connections(NcclLog& log) : log_(log) {}
  void read(std::string_view message, int line);

 private:
  struct Means {
    Transport transport = Transport::unknown;
    std::size_t at = 0;  // of the log's transports; past their end: one too many
  };
  Means& means_of(std::string_view via, int line);

  NcclLog& log_;
  std::map<std::string, Means, std::less<>> means_;  // by what stands behind "via"
};

// What follows a warning that NCCL gives up on: "transport/net_ib.cc:380 -> 2" of the same thread, and up to "init.cc:1303 -> 2".
// Borrows the log.
class WaysBack {
 public:
  explicit WaysBack(NcclLog& log) : log_(log) {}
  void warn(std::string_view prefix, std::string_view warning, int line);
  bool are_awaited() const { return awaited_; }
  void read(std::string_view prefix, std::string_view message, int line);

 private:
  void read_unwarned(std::string_view process, std::string_view message, int line);

  NcclLog& log_;
  bool warned_ = false,
       awaited_ = true;  // a warning was given, or may have been left out, that NCCL gives up on
  std::map<std::string, SaidInLog, std::less<>> begun_;  // without one: the first of each process
  std::string process_;                                  // that gave it: "host:pid"
  SaidInLog last_;                                       // that is not known; times is 0: none
};

// The error below a traceback of Python: the first line that is indented no more than the traceback. What stands before its
// heading, "(pid=41) ", "2024-02-27 [rank=1] || ", stands before the rest in as many letters. A piece may begin below the heading.
// Borrows the log.
class Tracebacks {
 public:
  explicit Tracebacks(NcclLog& log) : log_(log) {}
  bool are_open() const { return open_; }
  void read(std::string_view line, int number);

 private:
  NcclLog& log_;
  bool open_ = false;
  std::size_t column_ = 0;  // of the heading
  bool in_call_ = false;    // the last of its calls is one of what joins ranks
};

// Whether a line may be Python's, of an error or a call that led to it; quick, and at times true where it should not be.
bool may_be_of_python(std::string_view line);

// "ValueError: ...", "[rank0]: torch.cuda.OutOfMemoryError: ...": the line in which Python names an error, which people paste alone.
// Empty: it is none.
std::string_view error_of_python(std::string_view line);
bool is_of_launcher(std::string_view error);  // that a rank ended, and not of what

// Of whoever started the run: "[rank0]:[W326 ... ProcessGroupNCCL.cpp:1487] ...", "GLOBAL_RANK: 1, MEMBER: 2/8".
void read_words_of_torch(std::string_view line, int number, NcclLog& log);

// NCCL before 2.3 does not name itself: "host:12:13 [0] INFO NET : ...", "host:12:13 [0] include/socket.h:185 WARN Call ...". Where
// the word is that it would have named itself before; nothing: the line is another's.
std::optional<std::size_t> find_unnamed_mark(std::string_view line);

void read_comm(std::string_view message, std::string_view host, NcclLog& log);
void read_machine_line(std::string_view message, int line, NcclLog& log);
void read_network_line(std::string_view message, int line, NcclLog& log);
void read_retry(std::string_view message, int line, NcclLog& log);  // of a peer that did not answer

}  // namespace gradwire
