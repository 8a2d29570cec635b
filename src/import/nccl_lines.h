// Kinds of lines in a log of NCCL that are read by themselves: connections, and what it sees of the machine. Each adds to the
// log what a message (all behind "NCCL INFO ") says; other messages are left alone. For nccl_log.cpp alone.
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

void read_comm(std::string_view message, std::string_view host, NcclLog& log);
void read_machine_line(std::string_view message, int line, NcclLog& log);
void read_network_line(std::string_view message, int line, NcclLog& log);
void read_retry(std::string_view message, int line, NcclLog& log);  // of a peer that did not answer

}  // namespace gradwire
