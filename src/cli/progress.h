// A progress bar on stderr, when that is a terminal; silent otherwise. Redraws at most ten times a second.
#pragma once

#include <chrono>
#include <string>

namespace gradwire {

class ProgressBar {
 public:
  explicit ProgressBar(bool wanted = true);
  ~ProgressBar();  // leaves a clean line
  void show(double share, const std::string& doing);
  void clear();
  bool visible() const { return visible_; }

 private:
  using Clock = std::chrono::steady_clock;
  const bool visible_;
  bool drawn_ = false;
  Clock::time_point last_;
};

}  // namespace gradwire
