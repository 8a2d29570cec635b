#include "support/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "base/error.h"
#include "launch/outcome.h"
#include "launch/program.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

constexpr Seconds kPatience = 240;  // for eight ranks that train on two cores which others use too

}  // namespace

Session::Session(std::vector<std::string> command, const Environment& extra)
    : Session(begin(std::move(command), extra)) {}

Session::Started Session::begin(std::vector<std::string> command, const Environment& extra) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("pipe2");
  Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  Environment environment = process_environment();
  for (const auto& [name, value] : extra) environment[name] = value;
  return {std::move(read_end),
          start({std::move(command), std::move(environment), write_end.get(), write_end.get()})};
}

void Session::signal(int number) const { ::kill(process_.pid(), number); }

void Session::expect(const std::string& words) {
  const auto deadline = Deadline::after(kPatience);
  while (text_.find(words) == std::string::npos)
    if (!read_some(deadline)) FAIL() << "'" << words << "' is not in: " << text_;
}

bool Session::says_more_within(Seconds time) const {
  return wait_until_ready(output_.get(), POLLIN, Deadline::after(time));
}

int Session::finish() {
  const auto deadline = Deadline::after(kPatience);
  while (read_some(deadline)) {
  }
  if (!wait_until_ready(process_.descriptor(), POLLIN, deadline)) return -1;
  return exit_code_of(outcome_of_process(0, process_.find_status().value()));
}

bool Session::read_some(Deadline deadline) {
  char block[4096];
  if (!wait_until_ready(output_.get(), POLLIN, deadline)) return false;
  const auto got = ::read(output_.get(), block, sizeof block);
  if (got > 0) text_.append(block, static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace gradwire
