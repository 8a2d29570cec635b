#include "import/read_all.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "import/byte_source.h"
#include "import/read_profile.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeadBytes = 256 << 10, kMostFiles = 10000;
constexpr int kDeepest = 4;

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, ignored), end;
  for (; entry != end && files.size() < kMostFiles; entry.increment(ignored)) {
    if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
    if (entry->is_regular_file(ignored)) files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_passed_over(FileKind kind) {
  return kind == FileKind::unknown || kind == FileKind::binary || kind == FileKind::empty || kind == FileKind::script;
}

ReadFile look_at(const std::string& path) {
  ReadFile file{.file = path, .kind = FileKind::unknown, .problem = {}};
  file.kind = kind_of(head_of(path, kHeadBytes));
  return file;
}

std::vector<ReadFile> look_at_all(const std::vector<std::string>& paths) {
  std::vector<ReadFile> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(look_at(path));
      continue;
    }
    for (const std::string& inside : files_in(path))
      if (auto file = look_at(inside); !is_passed_over(file.kind)) files.push_back(std::move(file));
  }
  return files;
}

// Every trace by the next thread that is free; what fails leaves its reason.
std::vector<std::optional<Profile>> read_profiles(std::vector<ReadFile>& files) {
  std::vector<std::optional<Profile>> profiles(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      if (files[i].kind != FileKind::profile) continue;
      try {
        profiles[i] = read_profile(files[i].file);
      } catch (const std::exception& error) {
        files[i].problem = error.what();
      }
    }
  };
  const auto traces = std::count_if(files.begin(), files.end(), [](auto& file) { return file.kind == FileKind::profile; });
  const auto others = std::min<std::ptrdiff_t>(traces, std::max(1u, std::thread::hardware_concurrency())) - 1;
  std::vector<std::jthread> threads;
  for (std::ptrdiff_t i = 0; i < others; ++i) threads.emplace_back(work);
  work();
  threads.clear();  // joins
  return profiles;
}

void read_other(ReadFile& file, Gathered& gathered) {
  try {
    if (file.kind == FileKind::timeline) gathered.timelines.push_back({file.file, read_timeline(file.file)});
    if (file.kind == FileKind::topo_matrix || file.kind == FileKind::nccl_xml) gathered.machines.push_back(file.file);
  } catch (const ConfigError& error) {
    file.problem = error.what();
  }
  if (file.kind == FileKind::perfetto)
    file.problem = file.file + ": a Perfetto trace (protobuf); export JSON instead: prof.export_chrome_trace(\"trace.json\")";
  if (is_passed_over(file.kind) && file.kind != FileKind::script)
    file.problem = fmt::format("{}: {}", file.file, words_for(file.kind));
}

}  // namespace

Gathered read_all(const std::vector<std::string>& paths) {
  Gathered gathered;
  gathered.files = look_at_all(paths);
  auto profiles = read_profiles(gathered.files);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i]) gathered.profiles.push_back(std::move(*profiles[i]));
    read_other(gathered.files[i], gathered);
  }
  return gathered;
}

}  // namespace gradwire
