#include "launch/forked_rank.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"

namespace gradwire {
namespace {

[[noreturn]] void run_child(const std::function<Outcome()>& function, int report) {
  Outcome outcome;
  try {
    outcome = function();
  } catch (...) {
    std::fputs("gradwire: a rank threw something that is no std::exception\n", stderr);
    ::_exit(1);
  }
  std::fflush(nullptr);
  const auto bytes = encode(outcome);
  const bool told = ::write(report, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::_exit(told && outcome.ok() ? 0 : 1);
}

}  // namespace

ForkedRank::ForkedRank(Rank rank, const std::function<Outcome()>& function) : rank_(rank) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("pipe2");
  report_ = Fd(ends[0]);
  const Fd write_end(ends[1]);
  std::fflush(nullptr);  // or the child would print it again
  process_.emplace();
  if (process_->is_child()) run_child(function, write_end.get());
}

std::optional<Outcome> ForkedRank::find_outcome() {
  if (outcome_) return outcome_;
  if (const auto status = process_->find_status()) outcome_ = read_outcome(*status);
  return outcome_;
}

// What the rank told counts, unless it died or called exit() before it could.
Outcome ForkedRank::read_outcome(int wait_status) const {
  char bytes[kLongestReport];
  const auto got = ::read(report_.get(), bytes, sizeof bytes);
  if (got > 0 && WIFEXITED(wait_status)) return decode_outcome({bytes, static_cast<std::size_t>(got)});
  auto outcome = outcome_of_process(rank_, wait_status);
  if (outcome.ok()) outcome.kind = Outcome::Kind::exited;
  return outcome;
}

}  // namespace gradwire
