// NVLink as it shows in what is no report of it: rates that nothing else reaches, GPUs that are alone, links that fail.
#include <fmt/format.h>

#include <algorithm>

#include "explain/log_words.h"
#include "import/known_failures.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

// Above what PCIe 6 with 16 lanes carries.
constexpr double kMoreThanPcieGbps = 120;

bool is_of_nvidia(const std::string& gpu) {
  return gpu.find("AMD") == std::string::npos && gpu.find("Instinct") == std::string::npos;
}

std::optional<NvlinkAnswer> find_in_table(const NcclTestTable& table) {
  if (table.ranks < 2 || table.hosts == 0 || table.rows.empty() || !is_of_nvidia(table.gpu))
    return std::nullopt;
  const auto make = find_gpu_by_name(table.gpu);
  const Answered present = make && make->nvlink_links == 0 ? Answered::no : Answered::unknown;
  if (table.hosts == table.ranks)
    return NvlinkAnswer{present, Answered::no, "every rank of the table is on a host of its own"};
  const double best = std::max_element(table.rows.begin(), table.rows.end(), [](auto& a, auto& b) {
                        return a.busbw_gbps < b.busbw_gbps;
                      })->busbw_gbps;
  if (table.hosts > 1 || best < kMoreThanPcieGbps) return std::nullopt;
  return NvlinkAnswer{Answered::yes, Answered::yes,
                      fmt::format("a busbw of {:.0f} GB/s inside one host is more than PCIe carries", best)};
}

// p2pBandwidthLatencyTest, one way.
std::optional<NvlinkAnswer> find_in_rates(const PeerReport& report) {
  if (report.with_peers_gbps < kMoreThanPcieGbps) return std::nullopt;
  return NvlinkAnswer{
      Answered::yes, Answered::yes,
      fmt::format("{:.0f} GB/s from GPU to GPU are more than PCIe carries", report.with_peers_gbps)};
}

// No two of them: those that NVLink joins may.
bool are_all_apart(const PeerReport& report) {
  return report.by_test && report.gpus > 1 &&
         static_cast<int>(report.refusals.size()) >= report.gpus * (report.gpus - 1);
}

// "NVRM: Xid (PCI:0000:dc:00): 149, NETIR_LINK_EVT": the driver's word for a link that failed.
bool tells_of_links(const NcclLog& log) {
  return std::any_of(log.failures.begin(), log.failures.end(), [](const SaidInLog& said) {
    const KnownFailure* const known = find_known_failure(said.text);
    return known != nullptr && std::string_view(known->meaning.rule) == "R10";
  });
}

}  // namespace

NvlinkAnswer answer_from_signs(const CaseFile& given, NvlinkAnswer known) {
  if (known.present != Answered::unknown || known.used != Answered::unknown) return known;
  for (const NcclTestTable& table : given.files.tables)
    if (const auto answer = find_in_table(table)) return *answer;
  const auto& peers = given.files.peers;
  for (const PeerReport& report : peers)
    if (const auto answer = find_in_rates(report)) return *answer;
  if (std::any_of(peers.begin(), peers.end(), are_all_apart))
    return {Answered::no, Answered::no, "no two GPUs may reach each other, as those that NVLink joins may"};
  const auto& logs = given.files.logs;
  if (std::any_of(logs.begin(), logs.end(), tells_of_links))
    return {Answered::yes, Answered::unknown, "the driver tells of an NVLink that has errors"};
  return known;
}

}  // namespace gradwire
