#include "launch/inner_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "base/text.h"

namespace gradwire {
namespace {

// Empty where the process is gone.
std::string content_of_proc(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

// Each thread of a process has its own.
std::vector<pid_t> InnerRanks::children() const {
  std::vector<pid_t> found;
  std::error_code gone;
  std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", starter_), gone);
  for (; !gone && thread != std::filesystem::directory_iterator(); thread.increment(gone)) {
    const std::string list = content_of_proc(thread->path() / "children");
    for (const auto word : split(list, ' '))
      if (const auto pid = find_integer<pid_t>(word)) found.push_back(*pid);
  }
  return found;
}

// Before it becomes its own program a child has the environment of its parent, without the variable.
void InnerRanks::remember(pid_t child) {
  const std::string begin = variable_ + "=",
                    environment = content_of_proc(fmt::format("/proc/{}/environ", child));
  for (const auto entry : split(environment, '\0'))
    if (entry.starts_with(begin))
      if (const auto rank = find_integer<Rank>(entry.substr(begin.size()))) seen_[child] = *rank;
}

std::vector<Rank> InnerRanks::look() {
  const auto now = children();
  std::vector<Rank> gone;
  std::erase_if(seen_, [&](const auto& entry) {
    const bool here = std::find(now.begin(), now.end(), entry.first) != now.end();
    if (!here) gone.push_back(entry.second);
    return !here;
  });
  for (const pid_t child : now)
    if (!seen_.contains(child)) remember(child);
  return gone;
}

}  // namespace gradwire
