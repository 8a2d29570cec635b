#include "import/nccl_lines.h"

#include <algorithm>

#include "base/text.h"

namespace gradwire {
namespace {

// "0(1)" of "NET/IB/0(1)/GDRDMA"
bool is_number_of_card(std::string_view part) {
  const auto digits = part.find_first_not_of("0123456789");
  return !part.empty() &&
         (digits == std::string_view::npos || (digits > 0 && (part[digits] == '(' || part[digits] == '[')));
}

// "NET/IB/0(1)/GDRDMA" and "NET/IB/3/GDRDMA/Shared" are one means: numbers of cards are left out.
std::string without_numbers(std::string_view via) {
  std::string means;
  for (const auto part : split(via, '/'))
    if (!is_number_of_card(part)) means += (means.empty() ? "" : "/") + std::string(part);
  return means;
}

Transport transport_of(std::string_view via) {
  if (via.starts_with("P2P/MNNVL") || via.starts_with("MNNVL")) return Transport::nvlink_network;
  if (via.starts_with("P2P")) return Transport::p2p;
  if (via.starts_with("SHM") || via.starts_with("direct shared memory")) return Transport::shared_memory;
  if (via.starts_with("NET") || via.starts_with("COLLNET")) return Transport::network;
  return Transport::unknown;
}

// Every line of a long log passes here: the standard library asks for each character whether it is in a set.
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view leading_digits(std::string_view text) {
  return text.substr(
      0, static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin()));
}

std::string_view trailing_digits(std::string_view text) {
  const auto begin = std::find_if_not(text.rbegin(), text.rend(), is_digit).base();
  return text.substr(static_cast<std::size_t>(begin - text.begin()));
}

// "[6]" of "1[6]", before 2.18 the bus instead: "[b000]", "[1e0]".
std::optional<int> find_device(std::string_view bracketed) {
  constexpr int kMostDevices = 16;
  if (!bracketed.starts_with('[')) return std::nullopt;
  const auto digits = leading_digits(bracketed.substr(1));
  if (bracketed.substr(1 + digits.size(), 1) != "]") return std::nullopt;
  const auto device = find_integer<int>(digits);
  return device && *device < kMostDevices ? device : std::nullopt;
}

struct RankPair {
  int from = 0, to = 0;
  std::optional<int> from_device, to_device;
};

// "0[6000] -> 1[b000]", before 2.5 "0 -> 1": the ranks on both sides.
std::optional<RankPair> find_pair(std::string_view text) {
  const auto head = text.find("-> ");
  if (head == std::string_view::npos || head == 0 || text[head - 1] != ' ') return std::nullopt;
  const auto arrow = head - 1;
  auto left = text.substr(0, arrow);
  RankPair pair;
  if (left.ends_with(']') && left.rfind('[') != std::string_view::npos) {
    pair.from_device = find_device(left.substr(left.rfind('[')));
    left = left.substr(0, left.rfind('['));
  }
  const auto from = find_integer<int>(trailing_digits(left));
  const auto right = text.substr(arrow + 4), rank = leading_digits(right);
  const auto to = find_integer<int>(rank);
  if (!from || !to) return std::nullopt;
  pair.from = *from;
  pair.to = *to;
  pair.to_device = find_device(right.substr(rank.size()));
  return pair;
}

void add_used_card(std::string_view via, NcclLog& log) {
  for (const auto part : split(via, '/'))
    if (is_number_of_card(part) && log.used_cards.size() < kMostKeptOfLog)
      log.used_cards.insert(find_integer<int>(leading_digits(part)).value_or(0));
}

void add_pair(const RankPair& pair, Transport transport, NcclLog& log) {
  if (transport == Transport::network && log.network_pairs.size() < kMostPairsOfLog)
    log.network_pairs.emplace_back(pair.from, pair.to);
  if (transport != Transport::p2p || !pair.from_device || !pair.to_device) return;
  const LoggedPeers peers{*pair.from_device, *pair.to_device};
  const bool known = std::find(log.peers.begin(), log.peers.end(), peers) != log.peers.end();
  if (!known && log.peers.size() < kMostKeptOfLog) log.peers.push_back(peers);
}

// NCCL 2.5 wrote numbers for the kinds of ways.
std::string_view kind_of_way(std::string_view kind) {
  constexpr std::string_view kKinds[] = {"LOC", "NVL", "PIX", "PXB", "PHB", "SYS"};
  const auto number = find_integer<std::size_t>(kind);
  return number && *number < std::size(kKinds) ? kKinds[*number] : kind;
}

// "Pattern 4, crossNic 0, nChannels 1, bw 20/20, type NVL/PIX": a graph that NCCL did not find says where it began to look.
void read_graph(std::string_view message, NcclLog& log) {
  const auto type = find_after(message, " type ");
  if (type && number_after(message, "nChannels ") != 0)
    log.path_types.insert(std::string(kind_of_way(first_word(*type))));
}

// "GPU/8F000 :GPU/16000 (2/264.000000/NVL) CPU/0 (4/9.000000/SYS) ...": hops, GB/s and the kind of the way.
void read_paths(std::string_view message, NcclLog& log) {
  if (!message.starts_with("GPU/") || message.find(" :GPU/") == std::string_view::npos) return;
  for (auto rest = message.substr(message.find(" :GPU/") + 2);;) {
    const auto open = rest.find('('), close = rest.find(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
    const auto way = rest.substr(open + 1, close - open - 1);
    const auto kind = kind_of_way(way.substr(way.rfind('/') + 1));
    if (rest.starts_with("GPU/") && kind != "LOC" && kind.size() == 3) log.gpu_paths.emplace(kind);
    rest = trim(rest.substr(close + 1));
  }
}

// "include/socket.h:185" of "host:12:13 [0] include/socket.h:185 ".
bool ends_in_source(std::string_view text) {
  const auto number = trailing_digits(text);
  const auto source = text.substr(0, text.size() - number.size());
  return !number.empty() && (source.ends_with(".h:") || source.ends_with(".cu:") || source.ends_with(".cc:"));
}

// "host:12:13 [0]": a process, its thread and its GPU.
bool ends_in_thread(std::string_view text) {
  const auto open = text.rfind(" [");
  if (open == std::string_view::npos || !text.ends_with(']')) return false;
  const auto device = text.substr(open + 2, text.size() - open - 3), thread = text.substr(0, open);
  const auto tid = trailing_digits(thread);
  const auto process = thread.substr(0, thread.size() - tid.size());
  return !device.empty() && leading_digits(device).size() == device.size() && !tid.empty() &&
         process.ends_with(':') && !trailing_digits(process.substr(0, process.size() - 1)).empty();
}

bool is_of_rccl(std::string_view message) {
  return message.find("rsmi") != std::string_view::npos || message.starts_with("ROCr version") ||
         message.starts_with("hipDriverVersion") || message.find("librccl") != std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> find_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  return trim(text.substr(at + word.size()));
}

std::optional<int> number_after(std::string_view text, std::string_view word) {
  const auto rest = find_after(text, word);
  return rest ? find_integer<int>(leading_digits(*rest)) : std::nullopt;
}

std::optional<std::size_t> find_unnamed_mark(std::string_view line) {
  for (const std::string_view mark : {"INFO ", "WARN "}) {  // a blank before it would stop at each word
    const auto at = line.find(mark);
    if (at == std::string_view::npos || at == 0 || line[at - 1] != ' ') continue;
    const auto before = line.substr(0, at - 1);
    if (ends_in_thread(before) || (mark == "WARN " && ends_in_source(before))) return at;
  }
  return std::nullopt;
}

std::string_view first_word(std::string_view text) {
  const auto ends = [](char c) { return c == ' ' || c == '\t' || c == ',' || c == ';'; };
  return text.substr(0,
                     static_cast<std::size_t>(std::find_if(text.begin(), text.end(), ends) - text.begin()));
}

std::string shortened(std::string_view text) { return std::string(text.substr(0, kLongestLogText)); }

void say(SaidInLog& said, std::string_view text, int line) {
  if (said.times++ > 0) return;
  said.text = shortened(text);
  said.line = line;
}

void say_once(std::optional<SaidInLog>& said, std::string_view text, int line) {
  if (!said) said = SaidInLog{};
  say(*said, text, line);
}

Connections::Means& Connections::means_of(std::string_view via, int line) {
  const auto known = means_.find(via);
  if (known != means_.end()) return known->second;
  const std::string words = without_numbers(shortened(via));
  auto& all = log_.transports;
  const auto same = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.via == words; });
  Means means{transport_of(via), static_cast<std::size_t>(same - all.begin())};
  if (same == all.end() && all.size() < kMostKeptOfLog)
    all.push_back({means.transport, words, via.find("GDRDMA") != std::string_view::npos, line, 0});
  if (via.find("indirect") != std::string_view::npos) log_.gpu_paths.emplace("NVB");  // another GPU's NVLinks
  if (means.transport == Transport::network) add_used_card(via, log_);
  if (means_.size() >= kMostKeptOfLog) means_.clear();  // what is forgotten is found again
  return means_.emplace(via, means).first->second;
}

void Connections::read(std::string_view message, int line) {
  const auto at = message.find("via ");  // a blank before it would stop at each word
  if (at == std::string_view::npos) return;
  const auto pair = find_pair(message.substr(0, at));
  if (!pair && message.find("->") == std::string_view::npos) return;
  const auto rest = message.substr(at + 4);
  const auto via = trim(rest.substr(0, rest.find(" comm 0x")));  // RCCL says which communicator
  const Means& means = means_of(via, line);
  if (means.at < log_.transports.size()) ++log_.transports[means.at].times;
  if (pair) add_pair(*pair, means.transport, log_);
}

void read_machine_line(std::string_view message, int line, NcclLog& log) {
  if (message.starts_with("P2P is disabled between") || message.starts_with(kNoPeersOfOld))
    say_once(log.blocked_p2p, message.substr(0, message.find(". You")), line);
  if (message.starts_with("Pattern")) read_graph(message, log);
  if (message.starts_with("+ NVL[")) log.gpu_paths.emplace("NVL");
  read_paths(message, log);
  log.rccl = log.rccl || (log.version.empty() && is_of_rccl(message));  // else its version says so
}

void read_retry(std::string_view message, int line, NcclLog& log) {
  if (message.find("retrying") != std::string_view::npos && message.find("onnect") != std::string_view::npos)
    say_once(log.refused, message, line);
}

}  // namespace gradwire
