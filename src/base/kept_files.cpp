#include "base/kept_files.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersion = ".step-";

std::optional<std::int64_t> find_step(const std::string& name, const std::string& file) {
  const std::string begin = file + kVersion;
  if (!name.starts_with(begin)) return std::nullopt;
  return find_integer<std::int64_t>(std::string_view(name).substr(begin.size()));
}

}  // namespace

std::vector<fs::path> list_versions(const fs::path& path) {
  std::vector<std::tuple<fs::file_time_type, std::int64_t, fs::path>> found;
  std::error_code problem;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const auto step = find_step(entry.path().filename().string(), path.filename().string());
    if (!step) continue;
    const auto written = fs::last_write_time(entry.path(), problem);
    if (!problem && entry.is_regular_file(problem)) found.emplace_back(written, *step, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> versions;
  for (auto& [written, step, version] : found) versions.push_back(std::move(version));
  return versions;
}

// A link first, so that there is no moment without the newest.
void keep_version(const fs::path& given, std::int64_t step, int most) {
  const fs::path path = place_of(given), version = path.string() + kVersion + std::to_string(step);
  std::error_code problem;
  fs::remove(version, problem);
  fs::create_hard_link(path, version, problem);
  if (problem) throw FileError(fmt::format("can't keep {}: {}", version.string(), problem.message()));
  const auto versions = list_versions(path);
  for (std::size_t i = static_cast<std::size_t>(std::max(1, most)); i < versions.size(); ++i)
    fs::remove(versions[i], problem);
}

}  // namespace gradwire
