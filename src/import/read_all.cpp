#include "import/read_all.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "import/byte_source.h"
#include "import/profile.h"
#include "topo/import/xml_system.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeadBytes = 256 << 10, kMostFiles = 10000;
constexpr std::size_t kMostText = 16 << 20, kMostDump = 64 << 20;
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

bool is_left_out(FileKind kind) {
  return kind == FileKind::unknown || kind == FileKind::binary || kind == FileKind::empty ||
         kind == FileKind::script;
}

ReadFile look_at(const std::string& path) {
  ReadFile file{.file = path, .kind = FileKind::unknown, .problem = {}};
  file.kind = kind_of(head_of(path, kHeadBytes));
  if (file.kind == FileKind::unknown && path.ends_with(".py")) file.kind = FileKind::script;
  return file;
}

// A run's output may be long before anything in it is NCCL's, and what it died of stands at its end.
FileKind kind_of_all(const std::string& path) {
  constexpr std::size_t kMostLooked = 256 << 20, kOverlap = 256;
  ByteSource source{fs::path(path)};
  std::string block(kHeadBytes + kOverlap, ' ');
  for (std::size_t looked = 0; looked < kMostLooked;) {
    const std::size_t got = source.read(std::span(block).subspan(kOverlap));
    if (got == 0) break;
    looked += got;
    const auto text = std::string_view(block).substr(0, kOverlap + got);
    if (is_log_of_nccl(text)) return FileKind::nccl_log;
    std::copy(block.begin() + static_cast<std::ptrdiff_t>(got),
              block.begin() + static_cast<std::ptrdiff_t>(got + kOverlap), block.begin());
  }
  return FileKind::unknown;
}

// One that can't be read hides nothing of what the others tell.
ReadFile look_at_named(const std::string& path) {
  try {
    auto file = look_at(path);
    if (file.kind == FileKind::unknown) file.kind = kind_of_all(path);
    return file;
  } catch (const std::exception& error) {
    ReadFile unread;
    unread.file = path, unread.problem = error.what();
    return unread;
  }
}

std::vector<ReadFile> look_at_all(const std::vector<std::string>& paths) {
  std::vector<ReadFile> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(look_at_named(path));
      continue;
    }
    for (const std::string& inside : files_in(path))
      if (auto file = look_at(inside); !is_left_out(file.kind)) files.push_back(std::move(file));
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
  const auto traces =
      std::count_if(files.begin(), files.end(), [](auto& file) { return file.kind == FileKind::profile; });
  const auto others = std::min<std::ptrdiff_t>(traces, std::max(1u, std::thread::hardware_concurrency())) - 1;
  std::vector<std::jthread> threads;
  for (std::ptrdiff_t i = 0; i < others; ++i) threads.emplace_back(work);
  work();
  threads.clear();  // joins
  return profiles;
}

// What tools print of a machine, or a log, into which people paste it.
bool may_hold_reports(FileKind kind) {
  switch (kind) {
    case FileKind::nccl_log:
    case FileKind::stack_dump:
    case FileKind::nccl_tests:
    case FileKind::topo_matrix:
    case FileKind::nvlink_status:
    case FileKind::link_types:
    case FileKind::peer_status:
    case FileKind::lspci:
    case FileKind::smi_query:
    case FileKind::smi_table:
      return true;
    default:
      return false;
  }
}

// Half a matrix is a reason to leave out a file that is nothing else.
void read_matrix(const ReadFile& file, const std::string& text, Gathered& gathered) {
  if (!looks_like_matrix(text)) return;
  try {
    gathered.matrices.push_back({file.file, parse_matrix(text, file.file)});
    gathered.machines.push_back(file.file);
  } catch (const ConfigError&) {
    if (file.kind == FileKind::topo_matrix) throw;
  }
}

// One text may hold several: a bug report has the matrix, the state of the links and the log in one.
void read_reports(const ReadFile& file, const std::string& text, Gathered& gathered) {
  if (looks_like_link_types(text))
    gathered.link_types.push_back(parse_link_types(text, file.file));  // its matrices are not nvidia-smi's
  else
    read_matrix(file, text, gathered);
  if (auto table = parse_nccl_tests(text, file.file);
      !table.rows.empty() || file.kind == FileKind::nccl_tests)
    gathered.tables.push_back(std::move(table));
  if (looks_like_peer_status(text)) gathered.peers.push_back(parse_peer_status(text, file.file));
  if (looks_like_nvlink_status(text) || looks_like_gpu_names(text))
    gathered.nvlinks.push_back(parse_nvlink_status(text, file.file));
  if (looks_like_peer_test(text)) gathered.peers.push_back(parse_peer_test(text, file.file));
  if (looks_like_smi_query(text)) gathered.pci.push_back(parse_smi_query(text, file.file));
  if (looks_like_smi_csv(text)) gathered.pci.push_back(parse_smi_csv(text, file.file));
  if (auto stacks = parse_stack_dump(text, file.file); !stacks.processes.empty())
    gathered.stacks.push_back(std::move(stacks));
  if (looks_like_lspci(text)) gathered.pci.push_back(parse_lspci(text, file.file));
}

void read_text(const ReadFile& file, Gathered& gathered) {
  const std::string text = read_unpacked(file.file, kMostText);
  if (may_hold_reports(file.kind)) read_reports(file, text, gathered);
  if (file.kind == FileKind::environment) gathered.environments.push_back(parse_environment(text, file.file));
  if (file.kind == FileKind::nccl_inspector) gathered.tables.push_back(parse_inspector(text, file.file));
  if (looks_like_smi_table(text)) gathered.process_tables.push_back(parse_smi_table(text, file.file));
  if (file.kind == FileKind::script) gathered.scripts.push_back(parse_script(text, file.file));
}

bool is_small_text(const ReadFile& file) {
  return file.kind == FileKind::environment || file.kind == FileKind::nccl_inspector ||
         file.kind == FileKind::script || (may_hold_reports(file.kind) && file.kind != FileKind::nccl_log);
}

// A log may be as long as it likes; what else is in it is looked for only where it is short.
void read_log(const ReadFile& file, Gathered& gathered) {
  gathered.logs.push_back(read_nccl_log(file.file));
  std::error_code ignored;
  if (fs::file_size(file.file, ignored) > kMostText) return;
  try {
    read_text(file, gathered);
  } catch (const ConfigError&) {  // unpacked it is longer
  }
}

// Which machine it is of is found later, with what else is known; here that it is whole.
void read_topology(const ReadFile& file, Gathered& gathered) {
  parse_xml_system(read_unpacked(file.file, kMostText), file.file);
  gathered.machines.push_back(file.file);
}

std::string refusal(const ReadFile& file) {
  if (file.kind == FileKind::perfetto)
    return file.file +
           ": a Perfetto trace (protobuf); export JSON instead: prof.export_chrome_trace(\"trace.json\")";
  return fmt::format("{}: this is {}", file.file, words_for(file.kind));
}

// Of a pipe nobody knows.
std::optional<std::int64_t> find_time_written(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

void read_other(ReadFile& file, Gathered& gathered) {
  try {
    if (file.kind == FileKind::timeline) gathered.timelines.push_back({file.file, read_timeline(file.file)});
    if (file.kind == FileKind::nccl_xml) read_topology(file, gathered);
    if (file.kind == FileKind::nccl_log) read_log(file, gathered);
    if (is_small_text(file)) read_text(file, gathered);
    if (file.kind == FileKind::flight_recorder) {
      gathered.dumps.push_back(parse_flight_dump(read_unpacked(file.file, kMostDump), file.file));
      gathered.dumps.back().written_ns = find_time_written(file.file);
    }
    if (file.kind == FileKind::nccl_records)
      gathered.nccl_calls.push_back(parse_nccl_records(read_unpacked(file.file, kMostDump), file.file));
    if (file.kind == FileKind::nvlink_traffic)
      gathered.nvlink_traffic.push_back(parse_nvlink_traffic(read_unpacked(file.file, kMostText), file.file));
    if (file.kind == FileKind::watch_notes)
      gathered.notes.push_back(parse_watch_notes(read_unpacked(file.file, kMostText), file.file));
  } catch (const ConfigError& error) {
    file.problem = error.what();
  }
  if (file.kind == FileKind::perfetto || file.kind == FileKind::unknown || file.kind == FileKind::binary ||
      file.kind == FileKind::empty)
    file.problem = refusal(file);
}

// A rank's notes lie beside its trace.
void join_notes(Gathered& gathered) {
  const auto folder = [](const std::string& file) { return fs::path(file).parent_path(); };
  for (const WatchNotes& notes : gathered.notes)
    for (Profile& profile : gathered.profiles)
      if (profile.rank == notes.rank && folder(profile.file) == folder(notes.file)) add_notes(notes, profile);
}

}  // namespace

Gathered read_all(const std::vector<std::string>& paths) {
  Gathered gathered;
  gathered.files = look_at_all(paths);
  auto profiles = read_profiles(gathered.files);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i]) gathered.profiles.push_back(std::move(*profiles[i]));
    if (gathered.files[i].problem.empty()) read_other(gathered.files[i], gathered);
  }
  join_notes(gathered);
  keep_one_run(gathered);
  return gathered;
}

void keep_one_run(Gathered& files) {
  std::map<int, int> traces;
  for (const Profile& profile : files.profiles)
    if (profile.world) ++traces[*profile.world];
  if (traces.size() < 2) return;
  int world = 0;
  for (const Profile& profile : files.profiles)
    if (profile.world && (world == 0 || traces[*profile.world] > traces[world])) world = *profile.world;
  const auto is_of_another = [&](const Profile& profile) { return profile.world.value_or(world) != world; };
  for (const Profile& profile : files.profiles) {
    if (!is_of_another(profile)) continue;
    const auto file = std::ranges::find(files.files, profile.file, &ReadFile::file);
    if (file != files.files.end())
      file->problem = fmt::format("{}: this trace is of a run of {} ranks, not of the one of {}",
                                  profile.file, *profile.world, world);
  }
  std::erase_if(files.profiles, is_of_another);
}

std::vector<std::string> left_out_notes(const Gathered& gathered) {
  std::vector<std::string> notes;
  for (const ReadFile& file : gathered.files)
    if (!file.problem.empty()) notes.push_back("left out: " + file.problem);
  return notes;
}

}  // namespace gradwire
