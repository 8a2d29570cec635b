#include "import/nccl_log.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "import/known_failures.h"
#include "import/log_lines.h"
#include "import/nccl_lines.h"

namespace gradwire {
namespace {

void say_in(std::vector<SaidInLog>& list, std::string_view text, int line) {
  const auto same = std::find_if(list.begin(), list.end(),
                                 [&](const SaidInLog& said) { return said.text == shortened(text); });
  if (same != list.end()) {
    ++same->times;
  } else if (list.size() < kMostKeptOfLog) {
    list.push_back({shortened(text), line, 1});
  }
}

// "NCCL_P2P_LEVEL set by environment to LOC", "NCCL_IB_HCA set to mlx5_5", "NCCL_P2P_DISABLE set by environment to 1."
void read_variable(std::string_view message, int line, NcclLog& log) {
  const auto name = first_word(message);
  if (!name.starts_with("NCCL_") || message.find(" set ") == std::string_view::npos) return;
  const auto value = find_after(message, " to ");
  if (!value) return;
  auto word = first_word(*value);
  while (word.ends_with('.')) word.remove_suffix(1);
  log.rccl = log.rccl || word == "XGMI";  // a level that AMD's alone knows
  if (log.variables.size() < kMostKeptOfLog) say(log.variables[std::string(name)], word, line);
}

void read_place(std::string_view message, std::string_view host, NcclLog& log) {
  const auto rank = number_after(message, " rank "), ranks = number_after(message, " nranks ");
  if (rank && ranks && *ranks > log.ranks.value_or(0)) {
    log.ranks = *ranks;
    log.places.clear();  // ranks of a part of it are numbered anew
  }
  auto bus = find_after(message, " busId ");
  if (!bus) bus = find_after(message, " nvmlDev ");  // before 2.5: the driver's number for it
  if (!rank || !bus || (ranks && *ranks < log.ranks.value_or(0))) return;
  const bool known = std::any_of(log.places.begin(), log.places.end(),
                                 [&](const auto& place) { return place.rank == *rank; });
  if (known || log.places.size() >= kMostPairsOfLog) return;
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

// "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0"; a plugin may call itself "NET/IBext_v8".
void read_cards(std::string_view message, NcclLog& log) {
  const auto rest = find_after(message, ": Using ");
  if (!rest || !message.starts_with("NET/IB")) return;
  for (const auto word : split(rest->substr(0, rest->find("OOB")), ' ')) {
    const auto close = word.find(']'), colon = word.find(':');
    if (word.starts_with('[') && close != std::string_view::npos && colon != std::string_view::npos &&
        colon > close)
      log.cards.insert(std::string(word.substr(close + 1, colon - close - 1)));
    log.roce = log.roce || word.ends_with("/RoCE");
  }
}

void read_info(std::string_view message, std::string_view host, int line, NcclLog& log) {
  if (message.starts_with("Channel ") || message.starts_with("Ring ") || message.starts_with("Tree "))
    return read_connection(message, line, log);
  if (message.starts_with("NCCL_")) return read_variable(message, line, log);
  if (const auto chunk = number_after(message, "P2P Chunksize set to ")) log.p2p_chunk = *chunk;
  if (message.find(" coll channels") != std::string_view::npos)
    log.channels = std::max(log.channels.value_or(0), find_integer<int>(first_word(message)).value_or(0));
  if (const auto network = find_after(message, "Using network ")) say(log.network, *network, line);
  if (message.starts_with("NVLS multicast support is"))
    log.nvls = message.find("not available") == std::string_view::npos;
  read_place(message, host, log);
  read_shape(message, log);
  read_cards(message, log);
  read_machine_line(message, line, log);
  read_network_line(message, line, log);
  const bool too_large = message.find("exceeds device/fn maxSharedMem") != std::string_view::npos;
  if (too_large) say_in(log.warnings, message, line);  // its kernels can't be launched
}

// "host:pid:tid [0] " before the message; anything may stand before that, as "[1,0]<stdout>:" of mpirun, or a progress bar that
// ended in "it/s]".
std::string_view host_before(std::string_view prefix) {
  prefix = trim(prefix);
  const auto bracket = prefix.rfind('[');
  if (bracket == std::string_view::npos) return {};
  prefix = trim(prefix.substr(0, bracket));
  const auto blank = prefix.find_last_of(" \t");
  if (blank != std::string_view::npos) prefix = prefix.substr(blank + 1);
  const auto parts = split(prefix, ':');
  if (parts.size() < 2) return {};
  const auto host = parts[parts.size() < 3 ? 0 : parts.size() - 3];
  return host.substr(host.find_last_of("])>|\"") + 1);  // 0 where there is none
}

// "init.cc:902 " of what stands before a warning, from 2.29 on with the function: "init.cc:902 (ncclCommInit) ".
std::string_view source_before(std::string_view prefix) {
  prefix = trim(prefix);
  if (prefix.ends_with(')') && prefix.rfind('(') != std::string_view::npos)
    prefix = trim(prefix.substr(0, prefix.rfind('(')));
  const auto blank = prefix.find_last_of(" \t/");
  const auto word = blank == std::string_view::npos ? prefix : prefix.substr(blank + 1);
  const bool source = word.find(".c") != std::string_view::npos || word.find(".h:") != std::string_view::npos;
  return source ? word : std::string_view{};
}

// Of a line that somebody wrapped, {"log":"... NCCL INFO ...\n","stream":"stdout"} or a table of quoted columns, what was wrapped.
std::string_view unwrapped(std::string_view prefix, std::string_view message) {
  if (std::count(prefix.begin(), prefix.end(), '"') % 2 == 0) return message;
  return message.substr(0, std::min(message.find("\\n"), message.find('"')));
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

// PyTorch repeats what NCCL warned of, on the line below "Last error:" or behind it.
class LogReader {
 public:
  explicit LogReader(NcclLog& log) : log_(log) {}

  void read(std::string_view line, int number) {
    read_version(line, log_);
    auto at = find_mark(line, 0);
    if (at == std::string_view::npos) return read_other(line, number);
    auto prefix = line.substr(0, at);
    for (; at != std::string_view::npos; prefix = {}) {  // two processes may have written into one line
      const auto next = find_mark(line, at + kInfo.size());
      read_message(prefix, line.substr(at, next - at), number);
      at = next;
    }
  }

 private:
  void read_other(std::string_view line, int number) {
    const auto error = find_after(line, "Last error:");
    if (error || repeated_ || tells_of_failure(line)) say_in(log_.failures, trim(line), number);
    repeated_ = error && error->empty();
  }

  static std::size_t find_mark(std::string_view line, std::size_t from) {
    return std::min(line.find(kInfo, from), line.find(kWarn, from));
  }

  void read_message(std::string_view prefix, std::string_view marked, int number) {
    ++log_.nccl_lines;
    const auto host = host_before(prefix);
    if (!host.empty() && log_.hosts.size() < kMostKeptOfLog) log_.hosts.insert(std::string(host));
    const auto message = trim(unwrapped(prefix, marked.substr(kInfo.size())));
    if (marked.starts_with(kInfo)) return read_info(message, host, number, log_);
    say_in(log_.warnings, trim(fmt::format("{} {}", source_before(prefix), message)), number);
  }

  static constexpr std::string_view kInfo = "NCCL INFO ", kWarn = "NCCL WARN ";
  NcclLog& log_;
  bool repeated_ = false;
};

}  // namespace

const LoggedTransport* NcclLog::find(Transport transport) const {
  const auto found = std::find_if(transports.begin(), transports.end(),
                                  [&](const auto& one) { return one.transport == transport; });
  return found == transports.end() ? nullptr : &*found;
}

bool NcclLog::spans_nodes() const {
  if (nodes) return *nodes > 1;
  return find(Transport::network) != nullptr || hosts.size() > 1 || addresses.size() > 1;
}

bool NcclLog::is_of_one_node() const {
  if (nodes) return *nodes == 1;
  const bool all_wrote = ranks && static_cast<int>(places.size()) >= *ranks;
  return ranks == 1 || (all_wrote && !transports.empty() && !spans_nodes());
}

NcclLog read_nccl_log(ByteSource& source, const std::string& name) {
  NcclLog log;
  log.file = name;
  LogLines lines(source);
  LogReader reader(log);
  while (const auto line = lines.next()) reader.read(*line, lines.number());
  log.lines = lines.number();
  log.cut_lines = lines.cut();
  if (log.nccl_lines == 0 && log.version.empty() && log.failures.empty())
    throw ConfigError(fmt::format("{}: no line of it is NCCL's; run with NCCL_DEBUG=INFO", name));
  return log;
}

std::optional<NcclLog> find_joined(const std::vector<NcclLog>& logs) {
  NcclLog run;
  const auto larger = [](std::optional<int>& most, const std::optional<int>& one) {
    if (one && (!most || *one > *most)) most = one;
  };
  std::map<int, LoggedRank> places;
  for (const NcclLog& log : logs) {
    for (const LoggedRank& place : log.places) {
      const auto& known = places.emplace(place.rank, place).first->second;
      if (known.host != place.host || known.bus != place.bus) return std::nullopt;
    }
    larger(run.ranks, log.ranks);
    larger(run.nodes, log.nodes);
    larger(run.gpus_per_node, log.gpus_per_node);
    run.hosts.insert(log.hosts.begin(), log.hosts.end());
    run.addresses.insert(log.addresses.begin(), log.addresses.end());
    run.cards.insert(log.cards.begin(), log.cards.end());
    run.roce = run.roce || log.roce;
    if (log.card_gbit) run.card_gbit = std::min(run.card_gbit.value_or(*log.card_gbit), *log.card_gbit);
    if (run.network.times == 0) run.network = log.network;
    run.used_cards.insert(log.used_cards.begin(), log.used_cards.end());
    run.transports.insert(run.transports.end(), log.transports.begin(), log.transports.end());
    run.failures.insert(run.failures.end(), log.failures.begin(), log.failures.end());
    run.peers.insert(run.peers.end(), log.peers.begin(), log.peers.end());
    run.path_types.insert(log.path_types.begin(), log.path_types.end());
    run.gpu_paths.insert(log.gpu_paths.begin(), log.gpu_paths.end());
    run.variables.insert(log.variables.begin(), log.variables.end());
    run.rccl = run.rccl || log.rccl;
    if (run.network.text.empty()) run.network = log.network;
    if (log.p2p_chunk) run.p2p_chunk = log.p2p_chunk;
    if (log.nvls) run.nvls = log.nvls;
    larger(run.channels, log.channels);
    if (log.blocked_p2p) run.blocked_p2p = log.blocked_p2p;
  }
  for (const auto& [rank, place] : places) run.places.push_back(place);
  return run;
}

NcclLog read_nccl_log(const std::filesystem::path& path) {
  ByteSource source(path);
  return read_nccl_log(source, path.string());
}

}  // namespace gradwire
