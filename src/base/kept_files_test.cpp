#include "base/kept_files.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace gradwire {
namespace {

TEST(KeptFiles, are_the_newest_and_share_the_file_itself) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  for (const int step : {5, 10, 15, 20}) {
    write_file(path, "at step " + std::to_string(step));
    keep_version(path, step, 2);
  }
  const auto versions = list_versions(path);
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].filename(), "run.ckpt.step-20");
  EXPECT_EQ(read_file(versions[1]), "at step 15");
  EXPECT_TRUE(std::filesystem::equivalent(path, versions[0]));
  EXPECT_EQ(read_file(path), "at step 20");
}

TEST(KeptFiles, of_a_run_that_began_anew_are_newer_than_those_with_greater_numbers) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  write_file(path, "old");
  keep_version(path, 100, 2);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) - std::chrono::seconds(60));
  write_file(path, "new");
  keep_version(path, 5, 2);
  EXPECT_EQ(list_versions(path).front().filename(), "run.ckpt.step-5");
}

TEST(KeptFiles, of_one_moment_are_in_the_order_of_their_numbers) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const int step : {9, 10}) {
    write_file(path, "text");
    keep_version(path, step, 2);
    std::filesystem::last_write_time(path, now);
  }
  EXPECT_EQ(list_versions(path).front().filename(), "run.ckpt.step-10");
}

TEST(KeptFiles, are_nothing_but_what_has_a_number_behind_the_name) {
  const TempDir folder;
  for (const char* name :
       {"run.ckpt", "run.ckpt.step-", "run.ckpt.step-2.1f09a2b3.0-of-2", "run.ckpt.step-x", "a.step-1"})
    write_file(folder.path() / name, "something");
  EXPECT_TRUE(list_versions(folder.path() / "run.ckpt").empty());
  EXPECT_TRUE(list_versions(folder.path() / "no" / "such").empty());
}

}  // namespace
}  // namespace gradwire
