#include "import/nccl_log.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "import/log_lines.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostKept = 1000, kMostPairs = 1 << 16, kLongestText = 300;

// What follows `word`, without blanks; nothing if it is not there.
std::optional<std::string_view> find_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  return trim(text.substr(at + word.size()));
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" \t,;")); }

std::optional<int> number_after(std::string_view text, std::string_view word) {
  const auto rest = find_after(text, word);
  if (!rest) return std::nullopt;
  const auto digits = rest->substr(0, rest->find_first_not_of("0123456789"));
  return find_integer<int>(digits);
}

std::string shortened(std::string_view text) { return std::string(text.substr(0, kLongestText)); }

void say(SaidInLog& said, std::string_view text, int line) {
  if (said.times++ > 0) return;
  said.text = shortened(text);
  said.line = line;
}

void say_in(std::vector<SaidInLog>& list, std::string_view text, int line) {
  const auto same = std::find_if(list.begin(), list.end(),
                                 [&](const SaidInLog& said) { return said.text == shortened(text); });
  if (same != list.end()) {
    ++same->times;
  } else if (list.size() < kMostKept) {
    list.push_back({shortened(text), line, 1});
  }
}

// "NET/IB/0(1)/GDRDMA" and "NET/IB/3/GDRDMA/Shared" are one means: numbers of cards are left out.
std::string without_numbers(std::string_view via) {
  std::string means;
  for (const auto part : split(via, '/')) {
    const auto digits = part.find_first_not_of("0123456789");
    const bool card = !part.empty() && (digits == std::string_view::npos ||
                                        (digits > 0 && (part[digits] == '(' || part[digits] == '[')));
    if (!card) means += (means.empty() ? "" : "/") + std::string(part);
  }
  return means;
}

Transport transport_of(std::string_view via) {
  if (via.starts_with("P2P/MNNVL") || via.starts_with("MNNVL")) return Transport::nvlink_network;
  if (via.starts_with("P2P")) return Transport::p2p;
  if (via.starts_with("SHM") || via.starts_with("direct shared memory")) return Transport::shared_memory;
  if (via.starts_with("NET") || via.starts_with("COLLNET")) return Transport::network;
  return Transport::unknown;
}

// "0[6000] -> 1[b000]", before 2.5 "0 -> 1": the ranks on both sides.
std::optional<std::pair<int, int>> find_pair(std::string_view text) {
  const auto arrow = text.find(" -> ");
  if (arrow == std::string_view::npos) return std::nullopt;
  auto left = text.substr(0, arrow);
  if (left.ends_with(']')) left = left.substr(0, left.rfind('['));
  const auto from = find_integer<int>(left.substr(left.find_last_not_of("0123456789") + 1));
  const auto right = text.substr(arrow + 4);
  const auto to = find_integer<int>(right.substr(0, right.find_first_not_of("0123456789")));
  if (!from || !to) return std::nullopt;
  return std::pair(*from, *to);
}

void read_connection(std::string_view message, int line, NcclLog& log) {
  auto via = find_after(message, " via ");
  if (!via || message.find("->") == std::string_view::npos) return;
  via = trim(via->substr(0, via->find(" comm 0x")));  // RCCL says which communicator
  const std::string means = without_numbers(shortened(*via));
  const auto same = std::find_if(log.transports.begin(), log.transports.end(),
                                 [&](const auto& one) { return one.via == means; });
  if (same != log.transports.end()) {
    ++same->times;
  } else if (log.transports.size() < kMostKept) {
    log.transports.push_back(
        {transport_of(*via), means, via->find("GDRDMA") != std::string_view::npos, line, 1});
  }
  const auto pair = find_pair(message);
  if (pair && transport_of(*via) == Transport::network && log.network_pairs.size() < kMostPairs)
    log.network_pairs.push_back(*pair);
}

// "NCCL_P2P_LEVEL set by environment to LOC", "NCCL_IB_HCA set to mlx5_5", "NCCL_P2P_DISABLE set by environment to 1."
void read_variable(std::string_view message, int line, NcclLog& log) {
  const auto name = first_word(message);
  if (!name.starts_with("NCCL_") || message.find(" set ") == std::string_view::npos) return;
  const auto value = find_after(message, " to ");
  if (!value) return;
  auto word = first_word(*value);
  while (word.ends_with('.')) word.remove_suffix(1);
  if (log.variables.size() < kMostKept) say(log.variables[std::string(name)], word, line);
}

void read_place(std::string_view message, std::string_view host, NcclLog& log) {
  const auto rank = number_after(message, " rank "), ranks = number_after(message, " nranks ");
  if (rank && ranks && (!log.ranks || *ranks > *log.ranks)) log.ranks = *ranks;
  const auto bus = find_after(message, " busId ");
  if (!rank || !bus) return;
  const bool known = std::any_of(log.places.begin(), log.places.end(),
                                 [&](const auto& place) { return place.rank == *rank; });
  if (known || log.places.size() >= kMostPairs) return;
  log.places.push_back(
      {*rank, std::string(host), number_after(message, " cudaDev "), std::string(first_word(*bus))});
}

// "comm 0x.. rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0"
void read_shape(std::string_view message, NcclLog& log) {
  const auto nodes = number_after(message, " nNodes ");
  if (!nodes) return;
  if (!log.nodes || *nodes > *log.nodes) log.nodes = *nodes;
  const auto local = number_after(message, " localRanks ");
  if (local && (!log.gpus_per_node || *local > *log.gpus_per_node)) log.gpus_per_node = *local;
  const auto ranks = number_after(message, " nRanks ");
  if (ranks && (!log.ranks || *ranks > *log.ranks)) log.ranks = *ranks;
}

// "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0"
void read_cards(std::string_view message, NcclLog& log) {
  const auto rest = find_after(message, "NET/IB : Using ");
  if (!rest) return;
  for (const auto word : split(rest->substr(0, rest->find("OOB")), ' ')) {
    const auto close = word.find(']'), colon = word.find(':');
    if (word.starts_with('[') && close != std::string_view::npos && colon != std::string_view::npos &&
        colon > close)
      log.cards.insert(std::string(word.substr(close + 1, colon - close - 1)));
  }
}

void read_info(std::string_view message, std::string_view host, int line, NcclLog& log) {
  if (message.starts_with("Channel ") || message.starts_with("Ring ") || message.starts_with("Tree "))
    return read_connection(message, line, log);
  if (message.starts_with("NCCL_")) return read_variable(message, line, log);
  if (message.starts_with("P2P is disabled between")) {
    if (!log.blocked_p2p)
      log.blocked_p2p = SaidInLog{shortened(message.substr(0, message.find(". You"))), line, 0};
    ++log.blocked_p2p->times;
  }
  if (const auto chunk = number_after(message, "P2P Chunksize set to ")) log.p2p_chunk = *chunk;
  if (const auto network = find_after(message, "Using network ")) say(log.network, *network, line);
  if (const auto type = find_after(message, " type ");
      type && message.find("Pattern") != std::string_view::npos)
    log.path_types.insert(std::string(first_word(*type)));
  if (message.starts_with("NVLS multicast support is"))
    log.nvls = message.find("not available") == std::string_view::npos;
  read_place(message, host, log);
  read_shape(message, log);
  read_cards(message, log);
}

// "host:pid:tid [0] " before the message; anything may stand before that, as "[1,0]<stdout>:" of mpirun.
std::string_view host_before(std::string_view prefix) {
  prefix = trim(prefix);
  const auto bracket = prefix.rfind('[');
  if (bracket == std::string_view::npos) return {};
  prefix = trim(prefix.substr(0, bracket));
  const auto blank = prefix.find_last_of(" \t");
  if (blank != std::string_view::npos) prefix = prefix.substr(blank + 1);
  const auto parts = split(prefix, ':');
  return parts.size() < 2 ? std::string_view{} : parts[parts.size() < 3 ? 0 : parts.size() - 3];
}

// "init.cc:902 " of what stands before a warning.
std::string_view source_before(std::string_view prefix) {
  prefix = trim(prefix);
  const auto blank = prefix.find_last_of(" \t/");
  const auto word = blank == std::string_view::npos ? prefix : prefix.substr(blank + 1);
  const bool source = word.find(".c") != std::string_view::npos || word.find(".h:") != std::string_view::npos;
  return source ? word : std::string_view{};
}

// "NCCL version 2.26.2+cuda12.2", "RCCL version 2.20.5+hip6.2", "RCCL version : 2.22.3-HEAD:271856d".
void read_version(std::string_view line, NcclLog& log) {
  auto version = find_after(line, "CCL version ");
  if (!version) return;
  log.rccl = log.rccl || line.find("RCCL version ") != std::string_view::npos;
  if (version->starts_with(':')) version = trim(version->substr(1));
  if (log.version.empty())
    log.version = std::string(version->substr(0, version->find_first_not_of("0123456789.")).substr(0, 32));
}

// What programs around NCCL print when they die of it.
void read_failure(std::string_view line, int number, NcclLog& log) {
  constexpr std::array<std::string_view, 10> kSigns = {
      "Duplicate GPU detected", "system not yet initialized", "Watchdog caught collective operation timeout",
      "ncclSystemError",        "ncclInternalError",          "ncclUnhandledCudaError",
      "unhandled cuda error",   "unhandled system error",     "out of shared memory",
      "ncclRemoteError"};
  // A full disk says the same; what a loader's worker or NCCL shares has these names.
  const bool full =
      line.find("No space left on device") != std::string_view::npos &&
      (line.find("shm") != std::string_view::npos || line.find("/torch_") != std::string_view::npos);
  if (full || std::any_of(kSigns.begin(), kSigns.end(),
                          [&](auto sign) { return line.find(sign) != std::string_view::npos; }))
    say_in(log.failures, trim(line), number);
}

void read_log_line(std::string_view line, int number, NcclLog& log) {
  constexpr std::string_view kInfo = "NCCL INFO ", kWarn = "NCCL WARN ";
  read_version(line, log);
  const auto info = line.find(kInfo), warn = line.find(kWarn);
  if (info == std::string_view::npos && warn == std::string_view::npos)
    return read_failure(line, number, log);
  ++log.nccl_lines;
  const auto host = host_before(line.substr(0, std::min(info, warn)));
  if (!host.empty() && log.hosts.size() < kMostKept) log.hosts.insert(std::string(host));
  if (info != std::string_view::npos)
    read_info(trim(line.substr(info + kInfo.size())), host, number, log);
  else
    say_in(log.warnings,
           trim(fmt::format("{} {}", source_before(line.substr(0, warn)),
                            trim(line.substr(warn + kWarn.size())))),
           number);
}

}  // namespace

const LoggedTransport* NcclLog::find(Transport transport) const {
  const auto found = std::find_if(transports.begin(), transports.end(),
                                  [&](const auto& one) { return one.transport == transport; });
  return found == transports.end() ? nullptr : &*found;
}

NcclLog read_nccl_log(ByteSource& source, const std::string& name) {
  NcclLog log;
  log.file = name;
  LogLines lines(source);
  while (const auto line = lines.next()) read_log_line(*line, lines.number(), log);
  log.lines = lines.number();
  log.cut_lines = lines.cut();
  if (log.nccl_lines == 0 && log.version.empty() && log.failures.empty())
    throw ConfigError(fmt::format("{}: no line of it is NCCL's; run with NCCL_DEBUG=INFO", name));
  return log;
}

NcclLog read_nccl_log(const std::filesystem::path& path) {
  ByteSource source(path);
  return read_nccl_log(source, path.string());
}

}  // namespace gradwire
