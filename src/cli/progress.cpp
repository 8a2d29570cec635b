#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/say.h"

namespace gradwire {
namespace {

// A terminal that is gone sees nothing, which is no reason to end.
void draw(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

// What fits beside the cursor: a line that is broken could not be drawn over.
std::size_t widest_line() {
  constexpr std::size_t kWidest = 78;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? std::min<std::size_t>(kWidest, size.ws_col - 1U) : kWidest;
}

}  // namespace

ProgressBar::ProgressBar(bool wanted) : visible_(wanted && obeys_controls(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(double share, const std::string& doing) {
  constexpr int kWidth = 24;
  const auto now = Clock::now();
  if (!visible_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) return;
  const int done = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
  const auto line =
      fmt::format("[{:#<{}}{:.<{}}] {:3.0f} %  {:<44.44}", "", done, "", kWidth - done, share * 100, doing);
  draw("\r" + line.substr(0, widest_line()));
  drawn_ = true;
  last_ = now;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  draw(fmt::format("\r{:{}}\r", "", widest_line()));
  drawn_ = false;
}

}  // namespace gradwire
