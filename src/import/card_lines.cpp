// What NCCL says of the network: its cards and how fast they are, and where a process is reached.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "import/nccl_lines.h"

namespace gradwire {
namespace {

// "NET/IB: [0] mlx5_3:1/IB", of 2.3, and of subsystem NET from 2.26 on.
void read_card(std::string_view message, NcclLog& log) {
  constexpr std::string_view kCard = "NET/IB: [";
  const auto close = message.find("] ");
  if (!message.starts_with(kCard) || close == std::string_view::npos) return;
  const auto name = message.substr(close + 2, message.find(':', close) - close - 2);
  if (!name.empty() && log.cards.size() < kMostKeptOfLog) log.cards.emplace(name);
  log.roce = log.roce || first_word(message.substr(close + 2)).ends_with("/RoCE");
}

// "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0"; a plugin may call itself "NET/IBext_v8". Ports that are
// used as one: "Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [RO]; OOB eth0".
void read_cards(std::string_view message, NcclLog& log) {
  if (!message.starts_with("NET/IB")) return;
  const auto rest = find_after(message, ": Using ");
  if (!rest) return;
  for (auto word : split(rest->substr(0, rest->find("OOB")), ' ')) {
    word = word.substr(word.rfind(']') + 1);  // 0 where there is none
    while (word.ends_with(',') || word.ends_with('}')) word.remove_suffix(1);
    const auto colon = word.find(':');
    if (colon != std::string_view::npos && colon > 0 && log.cards.size() < kMostKeptOfLog)
      log.cards.insert(std::string(word.substr(0, colon)));
    log.roce = log.roce || word.ends_with("/RoCE");
  }
}

// "Bootstrap : Using eth0:10.0.0.5<0>", from 2.25 "Bootstrap: Using", before 2.8 "Using [0]ib0:10.148.0.205<0> [1]ib1:...", before
// 2.4 "NET : Using interface ib0:10.148.0.205<0>".
void read_address(std::string_view message, NcclLog& log) {
  const bool old = message.starts_with("NET : Using interface ");
  if ((!old && !message.starts_with("Bootstrap")) || log.addresses.size() >= kMostKeptOfLog) return;
  const auto rest = find_after(message, old ? "interface " : ": Using ");
  if (!rest) return;
  const auto colon = rest->find(':'), end = rest->find('<');
  if (colon == std::string_view::npos || end == std::string_view::npos || end <= colon + 1) return;
  log.addresses.emplace(rest->substr(colon + 1, end - colon - 1));
  const auto name = rest->substr(0, colon);
  log.interfaces.emplace(name.substr(name.find(']') + 1));  // 0 where there is none
}

double number_at(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);  // stays 0 where there is none
  return number;
}

// "NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=200000 context=...": Mbit/s, of subsystem NET from 2.26 on. In the
// picture of the machine, of GRAPH, "+ NET[25.0] - NET/0": GB/s.
void read_card_rate(std::string_view message, NcclLog& log) {
  double gbit = 0;
  if (message.starts_with("NET/IB"))
    gbit = number_after(message, " speed=").value_or(0) * 1e-3;
  else if (message.starts_with("+ NET["))
    gbit = 8 * number_at(message.substr(6));
  if (gbit > 0 && gbit < 1e5) log.card_gbit = std::min(log.card_gbit.value_or(gbit), gbit);
}

// "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1' (no module)"
void read_staged_card(std::string_view message, int line, NcclLog& log) {
  if (!message.starts_with("NET/") || message.find("GPU Direct RDMA Disabled for HCA") == message.npos)
    return;
  say_once(log.staged_network, message, line);
  const auto name = message.substr(std::min(message.find('\''), message.size()));
  const auto end = name.find('\'', 1);
  if (message.starts_with("NET/IB") && end != name.npos && log.cards.size() < kMostKeptOfLog)
    log.cards.emplace(name.substr(1, end - 1));
}

}  // namespace

void read_network_line(std::string_view message, int line, NcclLog& log) {
  read_cards(message, log);
  read_card(message, log);
  read_address(message, log);
  read_card_rate(message, log);
  read_staged_card(message, line, log);
  if (message.starts_with("GPU Direct RDMA Disabled for GPU ")) say_once(log.far_card, message, line);
  if (message.starts_with("Topology detection : could not read")) say_once(log.hidden_pci, message, line);
  if (message.starts_with("NET/IB : No device found")) say_once(log.no_network_card, message, line);
}

}  // namespace gradwire
