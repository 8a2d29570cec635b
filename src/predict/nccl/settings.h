// What the user's environment tells NCCL, as far as it changes times: the variables of `env` in a measured
// record or of a user's shell, and the version where it is known. A value.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/collective.h"
#include "base/units.h"
#include "topo/path.h"

namespace gradwire {

enum class NcclAlgorithm { ring, tree, nvls, nvls_tree };
enum class NcclProtocol { ll, ll128, simple };

// Of NCCL's algorithms or protocols those that a list leaves, by collective. A value.
template <typename Value>
class Allowed {
 public:
  bool has(Collective kind, Value value) const {
    const auto found = only_.find(kind);
    return found == only_.end() || std::ranges::find(found->second, value) != found->second.end();
  }
  void only(Collective kind, std::vector<Value> values) { only_[kind] = std::move(values); }
  bool operator==(const Allowed&) const = default;

 private:
  std::map<Collective, std::vector<Value>> only_;  // absent: all
};

struct NcclSettings {
  bool p2p_disabled = false;           // NCCL_P2P_DISABLE=1: NVLink is not used either
  std::optional<PathClass> p2p_level;  // NCCL_P2P_LEVEL: farther GPUs go through host memory
  bool shm_disabled = false;           // NCCL_SHM_DISABLE=1: what can't go straight goes through sockets
  bool copy_engine = false;  // NCCL_SHM_USE_CUDA_MEMCPY=1: copies instead of kernels, gone since 2.30
  bool nvls = true;          // NCCL_NVLS_ENABLE
  // NCCL_NET_GDR_LEVEL: cards farther from the GPU than that are reached through host memory; self (LOC): all of them; absent: up
  // to PXB
  std::optional<PathClass> gpudirect_level;
  Allowed<NcclAlgorithm> algorithms;  // NCCL_ALGO
  Allowed<NcclProtocol> protocols;    // NCCL_PROTO
  std::optional<int> least_channels,
      most_channels;                // NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS: thread blocks
  std::optional<Bytes> buffer;      // NCCL_BUFFSIZE
  std::optional<int> version;       // NCCL_VERSION, or a record's own: 2.23 as 223; absent: not known
  std::vector<std::string> stated;  // the variables that made this differ: "NCCL_P2P_DISABLE=1"
  bool operator==(const NcclSettings&) const = default;
};

// Reads NCCL_* variables; those without an effect on the model are ignored, as NCCL ignores them. NCCL_VERSION, which tells
// NCCL nothing, is what NVIDIA's containers say of theirs. Throws ConfigError for a value that NCCL would not take.
NcclSettings nccl_settings(const std::map<std::string, std::string>& environment);

// Of the user's shell: the same variables would also change what NCCL does there.
NcclSettings nccl_settings_here();
std::map<std::string, std::string> nccl_environment();  // those variables

std::string_view to_string(NcclAlgorithm);
std::string_view to_string(NcclProtocol);

}  // namespace gradwire
