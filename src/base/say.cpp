#include "base/say.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <string>

#include "base/deadline.h"
#include "base/held_signal.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr Seconds kPatience = 2;

// A pipe that poll() calls writable takes PIPE_BUF bytes without blocking.
void write_soon(std::string_view text) {
  const HeldSignal nobody_reads(SIGPIPE), too_long(SIGXFSZ);
  const auto deadline = Deadline::after(kPatience);
  while (!text.empty() && !deadline.passed()) {
    pollfd entry{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&entry, 1, deadline.remaining_ms()) <= 0) continue;
    const auto written = ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

std::string wrapped_for_terminal(std::string_view text) {
  std::string all;
  for (const auto line : split(text, '\n')) {
    if (!all.empty()) all += '\n';
    all += line.starts_with(' ') ? std::string(line) : wrap(line, kTerminalWidth, "  ");
  }
  return all;
}

}  // namespace

void say(std::string_view text) {
  const std::string shown = printable(text, Lines::keep);
  write_soon((::isatty(STDERR_FILENO) == 1 ? wrapped_for_terminal(shown) : shown) + "\n");
}

bool obeys_controls(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

void say(std::string_view who, std::string_view text) { say(fmt::format("{}: {}", who, text)); }

}  // namespace gradwire
