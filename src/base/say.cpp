#include "base/say.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>

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

}  // namespace

void say(std::string_view text) { write_soon(printable(text, Lines::keep) + "\n"); }

void say(std::string_view who, std::string_view text) { say(fmt::format("{}: {}", who, text)); }

}  // namespace gradwire
