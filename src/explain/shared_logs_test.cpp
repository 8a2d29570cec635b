// Other people's logs and matrices, in the directory GRADWIRE_SHARED names or in ../shared beside the checkout: all are
// read, those with a known problem get it as the first finding, the others none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "explain/case_file.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

fs::path shared_folder(const char* what) {
  const char* directory = std::getenv("GRADWIRE_SHARED");
  return fs::path(directory != nullptr ? directory : GRADWIRE_SOURCE_DIR "/../shared") / "groundtruth" / what;
}

// By the beginning of the file's name; what is not here is healthy.
struct Known {
  const char *file, *rule;
};

template <std::size_t N>
int check_folder(const fs::path& folder, const Known (&known)[N]) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".txt" || name.starts_with("051_")) continue;
    Gathered gathered = read_all({entry.path().string()});
    EXPECT_EQ(gathered.files.at(0).problem, "") << name;
    const auto diagnosis = diagnose(make_case(std::move(gathered), ""));
    std::string wanted;
    for (const Known& one : known)
      if (name.starts_with(one.file)) wanted = one.rule;
    EXPECT_EQ(diagnosis.findings.empty() ? "" : diagnosis.findings[0].rule, wanted) << name;
    ++files;
  }
  fmt::print("{}: {} files\n", folder.filename().string(), files);
  return files;
}

TEST(SharedLogs, get_the_right_first_finding) {
  const auto folder = shared_folder("nccl_logs");
  if (!fs::exists(folder)) GTEST_SKIP() << "not there, nothing was tested: " << folder;
  // 06: RoCE without GPUDirect; 10, 23: host memory; 11, 21: NCCL_P2P_LEVEL=LOC; 24: peer access is blocked.
  constexpr Known kKnown[] = {{"06_", "R38"}, {"10_", "R05"}, {"11_", "R06"},
                              {"21_", "R06"}, {"23_", "R05"}, {"24_", "R12"}};
  EXPECT_GE(check_folder(folder, kKnown), 16);
}

TEST(SharedMatrices, get_the_right_first_finding) {
  const auto folder = shared_folder("topo_matrices");
  if (!fs::exists(folder)) GTEST_SKIP() << "not there, nothing was tested: " << folder;
  constexpr Known kKnown[] = {{"102_", "R10"},
                              {"124_", "R10"}};  // directions disagree; a pair has 17 of 18 links
  EXPECT_GE(check_folder(folder, kKnown), 90);
}

}  // namespace
}  // namespace gradwire
