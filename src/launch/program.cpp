#include "launch/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/fd.h"

namespace gradwire {
namespace {

// What exec takes; borrows from `texts`.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Everything the child needs, made before the fork: afterwards nothing may allocate.
struct Prepared {
  explicit Prepared(const Program& program) : output(program.output), error(program.error) {
    for (const auto& [name, value] : program.environment) variables.push_back(name + "=" + value);
    arguments = pointers(program.command);
    settings = pointers(variables);
  }
  std::vector<std::string> variables;
  std::vector<char*> arguments, settings;
  int output, error;
};

// In the child: returns only when it fails.
void become(const Prepared& program, int input) {
  ::dup2(input, STDIN_FILENO);
  if (program.output >= 0) ::dup2(program.output, STDOUT_FILENO);
  if (program.error >= 0) ::dup2(program.error, STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(program.arguments[0], program.arguments.data(), program.settings.data());
}

}  // namespace

ChildProcess start(const Program& program) {
  if (program.command.empty()) throw ConfigError("no program to start is given");
  const Prepared prepared(program);
  const Fd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (!input || ::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("pipe2");
  const Fd reason(ends[0]);
  Fd tell(ends[1]);
  ChildProcess child;
  if (child.is_child()) {
    become(prepared, input.get());
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(tell.get(), &error, sizeof error);
    ::_exit(127);
  }
  tell.reset();
  int error = 0;  // exec closes the pipe with nothing in it
  if (::read(reason.get(), &error, sizeof error) == sizeof error)
    throw ConfigError(
        fmt::format("can't start '{}': {}", program.command[0], std::generic_category().message(error)));
  return child;
}

}  // namespace gradwire
