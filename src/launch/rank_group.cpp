#include "launch/rank_group.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace gradwire {
namespace {

Fd open_log(const std::filesystem::path& directory, Rank rank, bool append) {
  std::error_code problem;
  std::filesystem::create_directories(directory, problem);
  if (problem)
    throw ConfigError(fmt::format("can't make the folder {}: {}", directory.string(), problem.message()));
  const auto path = directory / fmt::format("rank-{}.log", rank);
  // A pipe that lies there under that name and that nobody reads would hold the launcher for ever.
  Fd file(::open(path.c_str(),
                 O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | O_NONBLOCK | (append ? 0 : O_TRUNC), 0666));
  if (file) ::fcntl(file.get(), F_SETFL, O_APPEND);
  if (!file)
    throw ConfigError(
        fmt::format("can't write {}: {}", path.string(), std::generic_category().message(errno)));
  return file;
}

// Of two that failed at once the one that was killed: the other may have noticed that.
bool is_worse(const Outcome& one, const Outcome& other) {
  return one.kind == Outcome::Kind::killed && other.kind != Outcome::Kind::killed;
}

}  // namespace

RankGroup::RankGroup(const std::vector<Member>& members, const GroupOptions& options)
    : options_(options),
      out_(options.out, wants_colour(options.out)),
      error_(options.error, wants_colour(options.error)) {
  try {
    for (const auto& member : members) start_member(member);
  } catch (...) {
    abandon();
    throw;
  }
}

RankGroup::~RankGroup() {
  if (!swept_) abandon();
}

void RankGroup::abandon() {
  const auto groups = process_groups();
  running_.clear();
  orphans_.sweep(groups);
}

std::vector<pid_t> RankGroup::process_groups() const {
  std::vector<pid_t> groups;
  for (const auto& member : running_) groups.push_back(member.process.pid());
  return groups;
}

void RankGroup::start_member(Member member) {
  orphans_.mark(member.environment);
  Program program{member.command, std::move(member.environment)};
  Fd out, error;
  if (options_.output == GroupOptions::Output::prefix) {
    add_pipe(member.rank, out_, out);
    add_pipe(member.rank, error_, error);
  } else if (options_.output == GroupOptions::Output::files) {
    out = open_log(options_.log_dir, member.rank, options_.append);
  }
  program.output = out.get();
  program.error = error ? error.get() : out.get();
  running_.push_back({member.rank, start(program)});
}

LineSource& RankGroup::add_pipe(Rank rank, LineSink& sink, Fd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("pipe2");
  write_end = Fd(ends[1]);
  Fd read_end(ends[0]);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);  // the programs' end stays as programs expect it
  return sources_.emplace_back(std::move(read_end), rank, sink);
}

bool RankGroup::all_ended() const {
  return std::all_of(running_.begin(), running_.end(), [](const Running& member) { return member.ended; });
}

std::vector<Rank> RankGroup::running() const {
  std::vector<Rank> ranks;
  for (const auto& member : running_)
    if (!member.ended) ranks.push_back(member.rank);
  return ranks;
}

bool RankGroup::wait(Deadline deadline, int wake, bool or_failure) {
  for (;;) {
    note_ended();
    if (all_ended() && !swept_) clean_up();
    if (swept_ && (all_written() || reader_is_stuck())) return true;
    if (deadline.passed() || (or_failure && failure_)) return false;
    pollfd woken{wake, POLLIN, 0};
    if (wake >= 0 && ::poll(&woken, 1, 0) > 0) return false;
    Deadline event = kill_at_ ? std::min(deadline, *kill_at_) : deadline;
    if (swept_ && heard_until_) event = std::min(event, *heard_until_);
    poll_once(event, wake);
    if (kill_at_ && kill_at_->passed()) kill();
  }
}

// Nobody is left who could write, so what is in the pipes is all there will be.
void RankGroup::clean_up() {
  orphans_.sweep(process_groups());
  swept_ = true;
  for (auto& source : sources_) {
    while (source.read_some()) {
    }
    source.close();
  }
}

void RankGroup::poll_once(Deadline deadline, int wake) {
  std::vector<pollfd> entries = {{wake, POLLIN, 0}};  // poll() passes over negative ones
  for (const auto& member : running_)
    if (!member.ended) entries.push_back({member.process.descriptor(), POLLIN, 0});
  for (const auto& source : sources_)
    if (source.open() && !source.sink().full()) entries.push_back({source.descriptor(), POLLIN, 0});
  for (const auto* sink : {&out_, &error_})
    if (!sink->empty()) entries.push_back({sink->descriptor(), POLLOUT, 0});
  if (::poll(entries.data(), entries.size(), deadline.remaining_ms()) < 0 && errno != EINTR)
    throw_system_error("poll");
  move_output();
}

void RankGroup::move_output() {
  for (auto& source : sources_)
    if (source.open() && !source.sink().full()) source.read_some();
  for (auto* sink : {&out_, &error_}) {
    pollfd entry{sink->descriptor(), POLLOUT, 0};
    while (!sink->empty() && ::poll(&entry, 1, 0) > 0) sink->write_some();
  }
}

void RankGroup::note_ended() {
  std::optional<Outcome> failed;
  for (auto& member : running_) {
    const auto status = member.ended ? std::nullopt : member.process.find_status();
    if (!status) continue;
    member.ended = true;
    const auto outcome = outcome_of_process(member.rank, *status);
    const bool excused = !outcome.ok() && options_.is_excused && options_.is_excused(outcome);
    if (outcome.ok() || excused) continue;
    well_ = false;
    if (!failed || is_worse(outcome, *failed)) failed = outcome;
  }
  if (!failed || ending_ || failure_) return;
  failure_ = failed;
  end();
}

void RankGroup::note_stopped() {
  for (auto& member : running_)
    if (!member.ended && member.process.find_stop()) stopped_.push_back(member.rank);
}

void RankGroup::signal(int number) {
  for (auto& member : running_)
    if (!member.ended) member.process.signal(number);
}

void RankGroup::end() {
  if (ending_) return;
  ending_ = true;
  note_stopped();
  kill_at_ = Deadline::after(options_.grace);
  signal(SIGTERM);
  signal(SIGCONT);  // one that is stopped would not take notice
}

void RankGroup::interrupt(int number) {
  const auto grace = Deadline::after(options_.interrupt_grace);
  kill_at_ = kill_at_ ? std::min(grace, *kill_at_) : grace;
  signal(number);
  signal(SIGCONT);
}

void RankGroup::kill() {
  constexpr Seconds kLastWords = 1;  // for what is left in the pipes
  kill_at_.reset();
  heard_until_ = Deadline::after(kLastWords);
  signal(SIGKILL);
}

}  // namespace gradwire
