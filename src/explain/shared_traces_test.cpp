// Holds the breakdown of other people's traces against an independent count, in the directory GRADWIRE_SHARED
// names or in ../shared beside the checkout. The count reads the JSON with another parser and marks every
// microsecond on a line instead of uniting intervals. Where the traces are not there, it skips and says so.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "explain/analysis.h"
#include "import/read_all.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

fs::path shared_traces() {
  const char* directory = std::getenv("GRADWIRE_SHARED");
  return fs::path(directory != nullptr ? directory : GRADWIRE_SOURCE_DIR "/../shared") / "groundtruth" /
         "traces";
}

std::vector<std::string> trace_files() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(shared_traces()))
    if (entry.path().string().ends_with(".json.gz") ||
        entry.path().string().find("pt.trace.json") != std::string::npos)
      files.push_back(entry.path().string());
  return files;
}

std::string unpacked(const std::string& path) {
  std::string text;
  const gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as they are
  char block[1 << 16];
  for (int got; (got = gzread(file, block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  gzclose(file);
  return text;
}

struct Tally {
  double compute = 0, comm = 0, overlap = 0, idle = 0;  // ms
};

constexpr double kTick = 0.05;  // microseconds a cell

struct Marks {
  explicit Marks(std::size_t cells) : of(cells) {}
  void mark(double begin, double end, unsigned char bit) {
    for (auto i = static_cast<std::size_t>(std::llround(begin / kTick));
         i < static_cast<std::size_t>(std::llround(end / kTick)); ++i)
      of[i] |= bit;
  }
  std::vector<unsigned char> of;
};

struct GpuSpan {
  double begin, end;
  unsigned char bit;  // 1 computing, 2 communication, 4 copies
};

std::vector<GpuSpan> gpu_spans(const nlohmann::json& document) {
  std::vector<GpuSpan> spans;
  for (const auto& event : document["traceEvents"]) {
    if (event.value("ph", "") != "X" || !event.contains("cat")) continue;
    const std::string category = event["cat"], name = event["name"];
    unsigned char bit = 0;
    if (category == "kernel" || category == "Kernel") bit = name.starts_with("nccl") ? 2 : 1;
    if (category.starts_with("gpu_mem")) bit = 4;
    if (bit != 0)
      spans.push_back(
          {event["ts"].get<double>(), event["ts"].get<double>() + event["dur"].get<double>(), bit});
  }
  return spans;
}

Tally count_by_marks(const std::string& path) {
  const auto spans = gpu_spans(nlohmann::json::parse(unpacked(path)));
  double first = INFINITY, last = 0;
  for (const GpuSpan& span : spans) {
    first = std::min(first, span.begin);
    last = std::max(last, span.end);
  }
  Marks marks(static_cast<std::size_t>((last - first) / kTick) + 2);
  for (const GpuSpan& span : spans) marks.mark(span.begin - first, span.end - first, span.bit);
  Tally tally;
  for (const unsigned char cell : marks.of) {
    tally.compute += (cell & 1) != 0;
    tally.comm += (cell & 2) != 0;
    tally.overlap += (cell & 3) == 3;
    tally.idle += cell == 0;
  }
  for (double* part : {&tally.compute, &tally.comm, &tally.overlap, &tally.idle}) *part *= kTick / 1000;
  return tally;
}

TEST(SharedTraces, break_down_as_an_independent_count_does) {
  if (!fs::exists(shared_traces())) GTEST_SKIP() << "not there, nothing was tested: " << shared_traces();
  int compared = 0;
  for (const std::string& path : trace_files()) {
    const auto analysis = analyze_profiles(read_all({path}).profiles);
    const GpuTotals& gpu = analysis.ranks.at(0).gpu;
    const Tally tally = count_by_marks(path);
    const double tolerance = 0.002 * static_cast<double>(gpu.span) * 1e-6;  // of the marks, not of the count
    EXPECT_NEAR(static_cast<double>(gpu.compute) * 1e-6, tally.compute, tolerance) << path;
    EXPECT_NEAR(static_cast<double>(gpu.comm) * 1e-6, tally.comm, tolerance) << path;
    EXPECT_NEAR(static_cast<double>(gpu.overlap) * 1e-6, tally.overlap, tolerance) << path;
    EXPECT_NEAR(static_cast<double>(gpu.idle) * 1e-6, tally.idle, tolerance) << path;
    ++compared;
  }
  fmt::print("{} traces compared\n", compared);
  EXPECT_GE(compared, 15);
}

TEST(SharedTraces, hold_the_buckets_of_resnet50) {
  const auto path = shared_traces() / "hta" / "nccl_parser_config_nccl_data.json.gz";
  if (!fs::exists(path)) GTEST_SKIP() << "not there, nothing was tested: " << path;
  Bytes sum = 0;
  for (const CollectiveRow& row : analyze_profiles(read_all({path.string()}).profiles).collectives)
    if (row.collective.kind == Collective::all_reduce) sum += row.bytes * static_cast<Bytes>(row.count);
  EXPECT_EQ(sum, Bytes{25557032} * 4 * 3);  // every parameter of ResNet-50, in three steps
}

TEST(SharedTraces, of_eight_ranks_are_matched_call_by_call) {
  const auto folder = shared_traces() / "param_dlrm_8rank";
  if (!fs::exists(folder)) GTEST_SKIP() << "not there, nothing was tested: " << folder;
  const auto analysis = analyze_profiles(read_all({folder.string()}).profiles);
  ASSERT_EQ(analysis.ranks.size(), 8u);
  for (const CollectiveRow& row : analysis.collectives) {
    EXPECT_TRUE(row.matched) << row.collective.word;
    EXPECT_GT(row.bytes, 0u) << row.collective.word;
  }
}

}  // namespace
}  // namespace gradwire
