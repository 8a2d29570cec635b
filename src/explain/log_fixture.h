// Logs of NCCL, a few lines each, and what follows from them, for tests.
#pragma once

#include <string>

#include "explain/case_file.h"

namespace gradwire {

inline NcclLog small_log(const std::string& lines) {
  ByteSource source{std::string_view(lines)};
  return read_nccl_log(source, "run.log");
}

inline Diagnosis diagnosis_of_logs(const std::vector<std::string>& logs, const std::string& matrix = "") {
  CaseFile given;
  for (const std::string& lines : logs) given.files.logs.push_back(small_log(lines));
  if (!matrix.empty()) given.files.matrices.push_back({"topo.txt", parse_matrix(matrix, "topo.txt")});
  return diagnose(given);
}

inline Diagnosis diagnosis_of_log(const std::string& lines, const std::string& matrix = "") {
  return diagnosis_of_logs({lines}, matrix);
}

inline std::string first_rule(const Diagnosis& diagnosis) {
  return diagnosis.findings.empty() ? "" : diagnosis.findings[0].rule;
}

inline bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

inline const std::string kShm = "n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n";
inline const std::string kP2p = "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
inline const std::string kOneNode =
    "n:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0\n";
inline const std::string kTwoNodes =
    "n:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n";
inline constexpr const char* kPair = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n";

}  // namespace gradwire
