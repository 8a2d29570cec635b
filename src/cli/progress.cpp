#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gradwire {
namespace {

// A terminal that is gone sees nothing, which is no reason to end.
void draw(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressBar::ProgressBar(bool wanted) : visible_(wanted && ::isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(double share, const std::string& doing) {
  constexpr int kWidth = 24;
  const auto now = Clock::now();
  if (!visible_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) return;
  const int done = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
  draw(fmt::format("\r[{:#<{}}{:.<{}}] {:3.0f} %  {:<44.44}", "", done, "", kWidth - done, share * 100,
                   doing));
  drawn_ = true;
  last_ = now;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  draw(fmt::format("\r{:78}\r", ""));
  drawn_ = false;
}

}  // namespace gradwire
