// Which processes hold memory on which GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "explain/case_file.h"

namespace gradwire {
namespace {

// Less than a context of CUDA takes: what NCCL maps of a neighbour's memory shows as little or nothing.
constexpr int kContext = 100;  // MiB

// Of each process the GPU that it has most memory on.
std::map<long, GpuProcess> own_gpus(const SmiTable& table) {
  std::map<long, GpuProcess> own;
  for (const GpuProcess& one : table.processes) {
    const auto known = own.try_emplace(one.process, one).first;
    if (one.mebibytes > known->second.mebibytes) known->second = one;
  }
  return own;
}

Finding crowded_gpu(const SmiTable& table, int line, std::string what) {
  Finding finding;
  finding.rule = "R22";
  finding.severity = Severity::high;
  finding.what = std::move(what);
  finding.evidence = fmt::format("{}:{}", short_name(table.file), line);
  finding.fix =
      "torch.cuda.set_device(local_rank) before anything else; torch.load(..., map_location=device)";
  return finding;
}

// Processes that compute on another GPU and have memory on this one too.
void check_strays(const SmiTable& table, std::vector<Finding>& findings) {
  const auto own = own_gpus(table);
  std::map<int, std::vector<GpuProcess>> strays;  // by GPU
  for (const GpuProcess& one : table.processes)
    if (one.gpu != own.at(one.process).gpu && one.mebibytes >= kContext) strays[one.gpu].push_back(one);
  if (strays.empty()) return;
  const auto& [gpu, most] = *std::max_element(strays.begin(), strays.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  int memory = 0;
  for (const GpuProcess& one : most) memory += one.mebibytes;
  findings.push_back(
      crowded_gpu(table, most[0].line,
                  fmt::format("{} of other GPUs hold{} {} MiB on GPU {}: something of each rank is put there",
                              most.size() == 1 ? "a process" : fmt::format("{} processes", most.size()),
                              most.size() == 1 ? "s" : "", memory, gpu)));
}

// As many processes as GPUs, and all on one of them.
void check_all_on_one(const SmiTable& table, std::vector<Finding>& findings) {
  std::set<int> gpus;
  std::set<long> processes;
  for (const GpuProcess& one : table.processes) {
    gpus.insert(one.gpu);
    processes.insert(one.process);
  }
  if (table.gpus < 2 || gpus.size() != 1 || static_cast<int>(processes.size()) != table.gpus) return;
  Finding finding = crowded_gpu(
      table, table.processes[0].line,
      fmt::format("all {} processes are on GPU {}, and the other GPUs have none", table.gpus, *gpus.begin()));
  finding.sure = Certainty::likely;
  findings.push_back(std::move(finding));
}

}  // namespace

void add_process_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const SmiTable& table : given.files.process_tables) {
    check_strays(table, diagnosis.findings);
    check_all_on_one(table, diagnosis.findings);
  }
}

}  // namespace gradwire
