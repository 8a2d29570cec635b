// What a matrix, or nvidia-smi nvlink -s, says of NVLinks that are down.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/text.h"
#include "explain/case_file.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

int nvlinks_in(const std::string& cell) {
  return cell.starts_with("NV") ? find_integer<int>(std::string_view(cell).substr(2)).value_or(0) : 0;
}

struct NvlinkCounts {
  int usual = 0, fewest = 0;        // between GPUs that have any; usual is the most
  bool pairs_alone = true;          // no GPU has more than one partner: bridges
  bool all_joined = true;           // every two of those that have any: a switch, or a mesh of four
  std::vector<std::string> joined;  // those that have any
  std::vector<std::string> without;
  std::vector<std::string> fewer;  // GPUs with fewer than usual to every partner
};

struct NvlinksOfGpu {
  int partners = 0, most = 0;
};

NvlinksOfGpu nvlinks_of(const TopoMatrix& matrix, int gpu, std::set<int>& counts) {
  NvlinksOfGpu links;
  for (int other = 0; other < matrix.gpus; ++other) {
    const int count = gpu == other ? 0 : nvlinks_in(matrix.cells[gpu][other]);
    if (count == 0) continue;
    counts.insert(count);
    ++links.partners;
    links.most = std::max(links.most, count);
  }
  return links;
}

NvlinkCounts count_nvlinks(const TopoMatrix& matrix) {
  std::set<int> pairs;
  std::vector<NvlinksOfGpu> gpus;
  for (int gpu = 0; gpu < matrix.gpus; ++gpu) gpus.push_back(nvlinks_of(matrix, gpu, pairs));
  NvlinkCounts counts;
  if (pairs.empty()) return counts;
  counts.fewest = *pairs.begin();
  counts.usual = *pairs.rbegin();
  for (std::size_t i = 0; i < gpus.size(); ++i)
    (gpus[i].partners > 0 ? counts.joined : counts.without).push_back(matrix.names[i]);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].partners == 0) continue;
    counts.pairs_alone = counts.pairs_alone && gpus[i].partners == 1;
    counts.all_joined = counts.all_joined && gpus[i].partners + 1 == static_cast<int>(counts.joined.size());
    if (gpus[i].most < counts.usual) counts.fewer.push_back(matrix.names[i]);
  }
  return counts;
}

std::string have(const std::vector<std::string>& gpus) {
  return join(gpus, ", ") + (gpus.size() == 1 ? " has" : " have");
}

Finding missing_nvlinks(const MatrixReport& report, const NvlinkCounts& counts) {
  Finding finding;
  finding.rule = "R10";
  finding.severity = Severity::high;
  finding.what = fmt::format(
      "{} fewer NVLinks than other GPUs of this machine ({} instead of {}): links are down, and a collective "
      "runs at the slowest GPU's rate",
      counts.fewer.empty() ? "some pairs have" : have(counts.fewer), counts.fewest, counts.usual);
  finding.evidence =
      fmt::format("{}: NV{} beside NV{}", short_name(report.file), counts.fewest, counts.usual);
  finding.fix =
      "nvidia-smi nvlink -s  # which link is inactive; nvidia-smi nvlink -e for its errors; reseat or have "
      "the board replaced";
  return finding;
}

// Through NVSwitch all pairs show the same count, a GPU's links, and bridges are alike in a machine: fewer on some
// is a link that is down. In meshes of V100 (NV1, NV2) counts differ by design.
void check_missing_nvlinks(const MatrixReport& report, std::vector<Finding>& findings) {
  const NvlinkCounts counts = count_nvlinks(report.matrix);
  const bool alike = counts.pairs_alone || (counts.all_joined && counts.usual > 2);
  if (alike && counts.fewest < counts.usual) findings.push_back(missing_nvlinks(report, counts));
}

// All others have NVLink to each other, and these to none. Boards without a switch have four GPUs: beside a whole one it is
// another card, as for the screen of a DGX Station. NV1 also joins some of a larger mesh.
bool lost_all_nvlinks(const NvlinkCounts& counts) {
  constexpr std::size_t kMesh = 4;
  constexpr int kSwitched = 8;  // links to each, of the makes that have a switch: 8, 12, 18
  const std::size_t gpus = counts.joined.size() + counts.without.size();
  const bool board = counts.usual >= kSwitched || counts.joined.size() > kMesh || gpus == kMesh;
  return counts.all_joined && counts.joined.size() >= 3 && !counts.without.empty() &&
         counts.without.size() < counts.joined.size() && counts.fewest > 1 && board;
}

void check_lost_nvlinks(const MatrixReport& report, std::vector<Finding>& findings) {
  const NvlinkCounts counts = count_nvlinks(report.matrix);
  if (!lost_all_nvlinks(counts)) return;
  Finding finding;
  finding.rule = "R10";
  finding.severity = Severity::high;
  finding.sure = Certainty::likely;
  finding.what = fmt::format(
      "{} no NVLink, and the other {} GPUs of this machine have it between every two: the links are down, "
      "and a "
      "collective over all GPUs runs over PCIe",
      have(counts.without), counts.joined.size());
  finding.evidence =
      fmt::format("{}: {} beside NV{}", short_name(report.file), counts.without.front(), counts.usual);
  finding.fix =
      "nvidia-smi nvlink -s; nvidia-smi -q | grep -A4 Fabric; systemctl status nvidia-fabricmanager; MIG "
      "mode turns "
      "NVLink off too; else reset the GPU or have it replaced";
  findings.push_back(std::move(finding));
}

void check_oddities(const MatrixReport& report, std::vector<Finding>& findings) {
  for (const std::string& oddity : report.matrix.oddities) {
    if (oddity.find("NV") == std::string::npos) continue;
    Finding finding;
    finding.rule = "R10";
    finding.sure = Certainty::likely;
    finding.what =
        "the two directions of a pair do not agree: a link is down in one of them, or the report was edited";
    finding.evidence = short_name(report.file) + ": " + oddity;
    finding.fix = "nvidia-smi nvlink -s";
    findings.push_back(std::move(finding));
  }
}

// Whether a ring over all GPUs goes by NVLink alone, as in the cubes of eight V100, where no GPU has it to all others: which
// GPUs a way from the first has passed, and where it ended.
bool has_ring_of_nvlinks(const TopoMatrix& matrix) {
  constexpr int kMostGpus = 16;
  if (matrix.gpus < 3 || matrix.gpus > kMostGpus) return false;
  const auto linked = [&](int a, int b) { return nvlinks_in(matrix.cells[a][b]) > 0; };
  const std::size_t all = (std::size_t{1} << matrix.gpus) - 1;
  std::vector<std::uint32_t> ends(all + 1, 0);  // by the set that was passed
  ends[1] = 1;
  for (std::size_t passed = 1; passed <= all; ++passed)
    for (int from = 0; from < matrix.gpus; ++from)
      for (int to = 0; (ends[passed] >> from & 1) != 0 && to < matrix.gpus; ++to)
        if ((passed >> to & 1) == 0 && linked(from, to)) ends[passed | std::size_t{1} << to] |= 1u << to;
  for (int last = 1; last < matrix.gpus; ++last)
    if ((ends[all] >> last & 1) != 0 && linked(last, 0)) return true;
  return false;
}

// Only some pairs have NVLink: a ring over all of them runs at its slowest hop.
void hint_at_placement(const MatrixReport& report, std::vector<Finding>& hints) {
  const TopoMatrix& matrix = report.matrix;
  if (matrix.gpus < 3 || !has_nvlink(matrix) || all_nvlinked(matrix) || has_ring_of_nvlinks(matrix) ||
      lost_all_nvlinks(count_nvlinks(matrix)))
    return;
  Finding hint;
  hint.rule = "R08";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what =
      "only some pairs of GPUs have NVLink: a job of two belongs on such a pair; one of more runs at the "
      "rate of PCIe";
  hint.evidence = short_name(report.file);
  hint.fix = "CUDA_VISIBLE_DEVICES=0,1  # a pair that shows NV";
  hints.push_back(std::move(hint));
}

// Soldered to a board with NVLink; others have it where somebody fitted a bridge. The catalogue knows which have a switch;
// makes that are not in it are known by how they are built.
bool has_nvlink_by_make(const std::string& name) {
  const auto gpu = find_gpu_by_name(name);
  const std::string& known = gpu ? gpu->name : name;
  return (gpu && gpu->nvswitch) || known.find("SXM") != std::string::npos ||
         known.find("HBM3") != std::string::npos;
}

// Links that lead nowhere: of a make that uses fewer than it has, as cards with bridges and those for some markets; and of a
// mesh without a switch those to GPUs that a virtual machine does not have.
bool is_all_that_it_can(const NvlinkReport& report, const NvlinkReport::Gpu& gpu) {
  const auto make = find_gpu_by_name(gpu.name);
  const bool all_of_make = make && make->nvlink_links > 0 && gpu.active >= make->nvlink_links;
  const bool mesh = make && !make->nvswitch && has_nvlink_by_make(gpu.name) && report.gpus.size() > 1 &&
                    std::all_of(report.gpus.begin(), report.gpus.end(),
                                [&](const auto& other) { return other.active == gpu.active; });
  return gpu.inactive == 0 || all_of_make || mesh;
}

// A GPU without another has nobody to link to.
bool misses_links(const NvlinkReport& report, const NvlinkReport::Gpu& gpu) {
  if (gpu.active == 0) return report.gpus.size() > 1 && has_nvlink_by_make(gpu.name);
  return !is_all_that_it_can(report, gpu);
}

using GpusAlike = std::vector<NvlinkReport::Gpu>;

std::string names_of(const GpusAlike& gpus) {
  std::vector<std::string> numbers;
  for (const auto& gpu : gpus) numbers.push_back(std::to_string(gpu.index));
  return (gpus.size() == 1 ? "GPU " : "GPUs ") + join(numbers, ", ");
}

Finding missing_links(const NvlinkReport& report, const GpusAlike& gpus) {
  const auto& first = gpus.front();
  const bool dark = first.active == 0;
  Finding finding;
  finding.rule = "R10";
  finding.severity = Severity::high;
  finding.what =
      dark ? fmt::format("no NVLink of {} is active, and a {} is made with them", names_of(gpus), first.name)
           : fmt::format("{} {} {} of {} NVLinks active", names_of(gpus), gpus.size() == 1 ? "has" : "have",
                         first.active, first.active + first.inactive);
  finding.evidence = fmt::format("{}:{}", short_name(report.file), first.line);
  finding.fix =
      dark ? "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A4 Fabric; MIG mode turns NVLink "
             "off too"
           : "reseat the bridge, all of its connectors; on NVSwitch: systemctl status nvidia-fabricmanager";
  return finding;
}

// One finding for all that miss as many.
void check_nvlink_states(const NvlinkReport& report, std::vector<Finding>& findings) {
  std::vector<GpusAlike> groups;
  for (const auto& gpu : report.gpus) {
    if (!misses_links(report, gpu)) continue;
    const auto alike = std::find_if(groups.begin(), groups.end(), [&](const GpusAlike& group) {
      return group[0].name == gpu.name && group[0].active == gpu.active && group[0].inactive == gpu.inactive;
    });
    if (alike == groups.end())
      groups.push_back({gpu});
    else
      alike->push_back(gpu);
  }
  for (const GpusAlike& group : groups) findings.push_back(missing_links(report, group));
}

}  // namespace

void add_nvlink_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const MatrixReport& report : given.files.matrices) {
    check_missing_nvlinks(report, diagnosis.findings);
    check_lost_nvlinks(report, diagnosis.findings);
    check_oddities(report, diagnosis.findings);
    hint_at_placement(report, diagnosis.hints);
  }
  for (const NvlinkReport& report : given.files.nvlinks)
    if (!report.names_alone) check_nvlink_states(report, diagnosis.findings);
}

}  // namespace gradwire
