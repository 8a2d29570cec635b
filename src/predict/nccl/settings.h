// What the user's environment tells NCCL, as far as it changes times: the variables of `env` in a measured
// record or of a user's shell. A value.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace gradwire {

enum class NcclAlgorithm { ring, tree, nvls, nvls_tree };
enum class NcclProtocol { ll, ll128, simple };

struct NcclSettings {
  bool p2p_disabled = false;      // NCCL_P2P_DISABLE=1: NVLink is not used either
  bool nvls = true;               // NCCL_NVLS_ENABLE
  std::optional<bool> gpudirect;  // NCCL_NET_GDR_LEVEL: LOC turns it off; absent: as the machine says
  std::optional<NcclAlgorithm> algorithm;  // NCCL_ALGO, when it leaves one choice
  std::optional<NcclProtocol> protocol;    // NCCL_PROTO, likewise
  bool operator==(const NcclSettings&) const = default;
};

// Reads NCCL_* variables; those without an effect on the model are ignored, as NCCL ignores them.
// Throws ConfigError for a value that NCCL would not take.
NcclSettings nccl_settings(const std::map<std::string, std::string>& environment);

std::string_view to_string(NcclAlgorithm);
std::string_view to_string(NcclProtocol);

}  // namespace gradwire
