#include "cli/bench/contestant.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/secret.h"
#include "cli/bench/contestant_mpi.h"
#include "cli/bench/rank.h"
#include "net/address_socket.h"
#include "net/rendezvous_environment.h"
#include "net/store_server.h"
#include "net/store_tcp.h"

namespace gradwire {
namespace {

// A child process; ended with its owner.
class Child {
 public:
  Child(const std::vector<std::string>& command, const Environment& environment) {
    std::vector<std::string> variables;
    for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
    const auto arguments = pointers(command), settings = pointers(variables);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw_system_error("fork");
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() == parent) ::execve(arguments[0], arguments.data(), settings.data());
    ::_exit(127);
  }
  Child(Child&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }

  bool has_ended() {
    if (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) == process_) process_ = -1;
    return process_ < 0;
  }

 private:
  // What execve takes; borrows from `texts`.
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  }

  pid_t process_ = -1;
};

class ProcessContestant final : public Contestant {
 public:
  ProcessContestant(std::string name, const ContestantOptions& options)
      : name_(std::move(name)),
        options_(options),
        secret_(make_secret()),
        server_(listen_at(SocketAddress::loopback()), secret_),
        store_({.server = {server_.address().host(), server_.address().port()}, .secret = secret_, .who = {}},
               Deadline::after(options.timeout)) {
    start();
  }

  ~ProcessContestant() override {
    if (!children_.empty()) store_.set(order_key(orders_), "stop");
  }

  const std::string& name() const override { return name_; }

  SampleResult sample(const SampleRequest& request) override {
    const int number = orders_++;
    store_.set(order_key(number), nlohmann::json(request).dump());
    SampleResult total;
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
      const auto result = nlohmann::json::parse(await(answer_key(number, rank))).get<SampleResult>();
      if (!result.error.empty()) throw Error(fmt::format("{}: {}", name_, result.error));
      total.per_call = std::max(total.per_call, result.per_call);
      total.wrong += result.wrong;
    }
    return total;
  }

 private:
  void start() {
    Environment environment = process_environment();
    environment["GRADWIRE_STORE"] = server_.address().text();
    environment["GRADWIRE_SECRET"] = secret_;
    environment["GRADWIRE_TIMEOUT"] = fmt::format("{}", options_.timeout);
    if (!options_.interface.empty()) environment["GRADWIRE_INTERFACE"] = options_.interface;
    if (is_mpi(name_))
      start_mpi(environment);
    else
      start_ranks(environment);
  }

  void start_mpi(Environment environment) {
    MpiLaunch launch = mpi_launch(name_, options_.ranks);
    for (const auto& [name, value] : launch.environment) environment[name] = value;
    launch.command.insert(launch.command.end(), {launch.program, "bench-rank", "mpi:unchecked"});
    children_.emplace_back(launch.command, environment);
  }

  void start_ranks(Environment environment) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    environment["WORLD_SIZE"] = environment["LOCAL_WORLD_SIZE"] = std::to_string(options_.ranks);
    for (Rank rank = 0; rank < options_.ranks; ++rank) {
      environment["RANK"] = environment["LOCAL_RANK"] = std::to_string(rank);
      children_.emplace_back(std::vector<std::string>{self, "bench-rank", name_}, environment);
    }
  }

  // The value of a key that a rank will set, unless the group ends first.
  std::string await(const std::string& key) {
    const Deadline deadline = Deadline::after(options_.timeout * 2);
    for (;;) {
      try {
        return store_.get(key, Deadline::after(std::min(1.0, deadline.remaining())));
      } catch (const Timeout&) {
        if (deadline.passed())
          throw Timeout(fmt::format("{}: no answer within {}", name_, format_seconds(options_.timeout * 2)));
        if (std::any_of(children_.begin(), children_.end(), [](Child& child) { return child.has_ended(); }) &&
            store_.find(key).empty())
          throw Error(fmt::format("{}: a rank ended early; what it said is above", name_));
      }
    }
  }

  const std::string name_;
  const ContestantOptions options_;
  const std::string secret_;
  StoreServer server_;
  TcpStore store_;
  std::vector<Child> children_;
  int orders_ = 0;
};

}  // namespace

std::unique_ptr<Contestant> start_contestant(const std::string& name, const ContestantOptions& options) {
  return std::make_unique<ProcessContestant>(name, options);
}

}  // namespace gradwire
