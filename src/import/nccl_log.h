// What NCCL_DEBUG=INFO says, of NCCL 2.2 to 2.30, alone or among the output of whatever ran: who is
// connected to whom by which means, which variables were set, what it warned of. Lines are read one by one;
// what is kept is what differs, with the first line that says it. A value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/byte_source.h"

namespace gradwire {

enum class Transport : std::uint8_t {
  p2p,            // peer access: NVLink or PCIe, the log seldom says which
  shared_memory,  // through host memory
  network,
  nvlink_network,  // NVLink between nodes (MNNVL)
  unknown
};

// Something said, and where first.
struct SaidInLog {
  std::string text;
  int line = 0;
  int times = 0;
};

struct LoggedTransport {
  Transport transport = Transport::unknown;
  std::string via;  // "P2P/CUMEM", "SHM/direct/direct", "NET/IB/GDRDMA": without the number of the card
  bool gpudirect = false;  // of the network: straight from the GPU's memory
  int line = 0;
  int times = 0;
};

struct LoggedRank {
  int rank = 0;
  std::string host;
  std::optional<int> device;  // cudaDev
  std::string bus;
};

// Two GPUs of one node that reach each other directly, by the driver's numbers for them.
struct LoggedPeers {
  int from = 0, to = 0;
  bool operator==(const LoggedPeers&) const = default;
};

// What NCCL before 2.11 says where the driver grants two GPUs no peer access.
constexpr std::string_view kNoPeersOfOld = "Could not enable P2P between";

// Processes that say which rank they are, as Lightning lets them: "GLOBAL_RANK: 1, MEMBER: 2/8".
struct LoggedMembers {
  int world = 0;             // 0: nobody said it
  std::map<int, int> times;  // how often each rank said it
  bool twice = false;        // one said it again before others had said it at all: two processes
  bool met = false;          // "All distributed processes registered"
  SaidInLog first, again;    // who said it first; the first that said it twice
  int last_line = 0;         // where it was said last
};

// "Waiting in store based barrier to initialize process group for rank: 0, ... (world_size=4, worker_count=16, ...": the last.
struct LoggedMeeting {
  int world = 0, came = 0;
  int line = 0;  // 0: nobody said it
  std::string text;
};

struct NcclLog {
  std::string file;
  std::string version;     // "2.26.2"; empty: not said
  bool rccl = false;       // AMD's: it prints the same lines
  bool of_kernel = false;  // dmesg: nothing in it is NCCL's
  int lines = 0, nccl_lines = 0;
  int torch_lines = 0;  // of PyTorch's, about NCCL: a run that never logged has these alone
  std::optional<int> ranks, nodes, gpus_per_node;  // of the largest communicator
  std::vector<LoggedTransport> transports;
  std::map<std::string, SaidInLog> variables;  // NCCL_P2P_LEVEL: what it was set to
  std::vector<SaidInLog> warnings;        // NCCL WARN, after the source that warns: "init.cc:902 Duplicate.."
  std::vector<SaidInLog> failures;        // lines of others that say why a run died
  std::optional<SaidInLog> gave_up;       // a warning that is not known, which NCCL then gave up on
  std::optional<SaidInLog> failed_start;  // the first "init.cc:1303 -> 2" after any warning
  SaidInLog last_error;  // what PyTorch repeats as NCCL's last error, if it is not known; times is 0: none
  LoggedMembers members;
  LoggedMeeting meeting;
  int tracebacks = 0;
  SaidInLog
      error;  // what the first of them ended in, known or not, or what stands at the end alone; times is 0: none
  bool failed_in_call =
      false;  // it was raised by a call of what joins ranks: torch.distributed, Horovod, DeepSpeed
  std::optional<SaidInLog> blocked_p2p;     // "P2P is disabled between connected GPUs ...", see kNoPeersOfOld
  std::optional<SaidInLog> staged_network;  // "GPU Direct RDMA Disabled for HCA ..."
  std::optional<SaidInLog> far_card;        // "GPU Direct RDMA Disabled for GPU ... (distance 5 > 4)"
  std::optional<SaidInLog> no_network_card;  // "NET/IB : No device found."
  std::optional<SaidInLog> hidden_pci;       // "Topology detection : could not read ... max_link_speed"
  std::optional<SaidInLog> refused;          // a peer that did not answer, tried again
  std::optional<int> p2p_chunk;              // "P2P Chunksize set to ..."
  std::set<std::string> path_types;          // of NCCL's graphs: "NVL/PIX"
  std::set<std::string> gpu_paths;           // between GPUs, of the topology NCCL sees: "NVL", "PHB"
  std::optional<int> channels;      // "12 coll channels": parts that a collective is cut into; the most
  std::optional<bool> nvls;         // multicast: NVLink SHARP
  SaidInLog network;                // "Socket", "IB", "AWS Libfabric"
  std::set<std::string> cards;      // "mlx5_0", "hfi1_2"
  bool roce = false;                // some of them are on Ethernet
  std::optional<double> card_gbit;  // of the slowest of which the log says it
  std::set<int> used_cards;         // by NCCL's numbers for them
  std::vector<LoggedRank> places;   // ranks whose place is known, first said first
  std::vector<std::pair<int, int>> network_pairs;  // ranks connected by the network
  std::vector<LoggedPeers> peers;                  // from 2.18 on
  std::set<std::string> hosts, addresses;          // addresses: what each process said it is reached at
  std::set<std::string> interfaces;                // by which it is
  bool cut_lines = false;                          // some line was too long and was read in part

  const LoggedTransport* find(Transport) const;  // the first of that kind
  // By NCCL's own count, by what connects ranks, or by the names and addresses of those that wrote.
  bool spans_nodes() const;
  bool is_of_one_node()
      const;  // known to be: by NCCL's count, or by all of its ranks, who never left their host
};

NcclLog read_nccl_log(const std::filesystem::path&);  // throws ConfigError
NcclLog read_nccl_log(ByteSource&, const std::string& name);

// Logs that ranks of one run wrote, a file each, as one: who is where and who is connected to whom. Nothing where they are
// of different runs, which say different things of the same rank.
std::optional<NcclLog> find_joined(const std::vector<NcclLog>&);

}  // namespace gradwire
