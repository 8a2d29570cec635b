#include "launch/lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "base/disk_fault.h"
#include "base/held_signal.h"
#include "base/say.h"

namespace gradwire {
namespace {

constexpr std::size_t kLongestLine = 1 << 16;  // a longer one is cut in pieces

}  // namespace

bool wants_colour(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  return obeys_controls(descriptor) && (refused == nullptr || *refused == '\0');
}

void LineSink::add(Rank rank, std::string_view line) {
  constexpr std::array kColours = {36, 33, 35, 32, 34, 31};
  if (colour_)
    pending_ += fmt::format("\033[{}m[{}]\033[0m {}\n", kColours[rank % kColours.size()], rank, line);
  else
    pending_ += fmt::format("[{}] {}\n", rank, line);
}

// A pipe that poll() calls writable takes PIPE_BUF bytes without blocking, though the descriptor, which other
// processes may share, stays a blocking one.
void LineSink::write_some() {
  const HeldSignal nobody_reads(SIGPIPE), too_long(SIGXFSZ);
  const auto written =
      ::write(descriptor_, pending_.data(), std::min<std::size_t>(pending_.size(), PIPE_BUF));
  const int error = written < 0 ? errno : 0;
  if (error == 0)
    pending_.erase(0, static_cast<std::size_t>(written));
  else if (error != EINTR && error != EAGAIN)
    pending_.clear();
  if (is_fault_of_disk(error)) problem_ = std::generic_category().message(error);
}

bool LineSource::read_some() {
  std::array<char, 1 << 14> block;
  const auto got = pipe_ ? ::read(pipe_.get(), block.data(), block.size()) : -1;
  if (got > 0) pass_on({block.data(), static_cast<std::size_t>(got)});
  if (got == 0) close();
  return got > 0;
}

void LineSource::pass_on(std::string_view bytes) {
  for (;;) {
    const auto end = bytes.find('\n');
    begun_ += bytes.substr(0, end);
    if (end == std::string_view::npos && begun_.size() < kLongestLine) return;
    sink_->add(rank_, begun_);
    begun_.clear();
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
  }
}

void LineSource::close() {
  if (!begun_.empty()) sink_->add(rank_, begun_);
  begun_.clear();
  pipe_.reset();
}

}  // namespace gradwire
