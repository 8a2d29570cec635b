// Kinds of lines in a log of NCCL that are read by themselves: connections, and what it sees of the machine. Each adds to the
// log what a message (all behind "NCCL INFO ") says; other messages are left alone. For nccl_log.cpp alone.
#pragma once

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

void read_connection(std::string_view message, int line, NcclLog& log);
void read_machine_line(std::string_view message, int line, NcclLog& log);
void read_network_line(std::string_view message, int line, NcclLog& log);

}  // namespace gradwire
