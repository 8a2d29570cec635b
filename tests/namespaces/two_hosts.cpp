#include "namespaces/two_hosts.h"

#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr char kMyNetwork[] = "/proc/thread-self/ns/net";

// In a thread of its own: which namespace one is in is a matter of the thread.
void aside(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

Fd make_network() {
  Fd network;
  aside([&] {
    if (::unshare(CLONE_NEWNET) != 0) throw_system_error("unshare of the network");
    network.reset(::open(kMyNetwork, O_RDONLY | O_CLOEXEC));
    if (!network) throw_system_error(kMyNetwork);
  });
  return network;
}

// The bucket holds a millisecond's bytes, and two segments at least, so that neither the timer's grain nor
// the size of segments holds the rate down.
std::string shaping(double gbit_per_s) {
  const double burst = std::max(gbit_per_s * 1e9 / 8 / 1000, 128.0 * 1024);
  return fmt::format("tc qdisc add dev link0 root tbf rate {:.0f}kbit burst {:.0f} latency 20ms",
                     gbit_per_s * 1e6, burst);
}

}  // namespace

std::optional<std::string> TwoHosts::find_obstacle() {
  if (::geteuid() != 0) return "network namespaces need root";
  if (std::system("ip -V >/dev/null 2>&1 && tc -V >/dev/null 2>&1") != 0)
    return "ip and tc (iproute2) are missing";
  try {
    TwoHosts try_it;
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

TwoHosts::TwoHosts(double gbit_per_s) : hosts_{make_network(), make_network()} {
  run_on(0, fmt::format("ip link add link0 type veth peer name link0 netns /proc/{}/fd/{}", ::getpid(),
                        hosts_[1].get()));
  for (const int host : {0, 1}) {
    run_on(host, fmt::format("ip address add {}/24 dev link0", address(host)));
    run_on(host, "ip link set lo up && ip link set link0 up");
    if (gbit_per_s > 0) run_on(host, shaping(gbit_per_s));
  }
}

void TwoHosts::enter(int host) const {
  if (::setns(hosts_[static_cast<std::size_t>(host)].get(), CLONE_NEWNET) != 0) throw_system_error("setns");
}

std::string TwoHosts::address(int host) { return fmt::format("10.77.0.{}", host + 1); }

Bytes TwoHosts::bytes_sent(int host) const {
  Bytes bytes = 0;
  aside([&] {
    enter(host);
    // "link0: <received: bytes packets 6 more> <sent: bytes ...>"
    const std::string table = read_file("/proc/thread-self/net/dev");
    auto row = trim(std::string_view(table).substr(table.find("link0:") + 6));
    for (int column = 0; column < 8; ++column) row = trim(row.substr(row.find(' ')));
    bytes = find_integer<Bytes>(row.substr(0, row.find(' '))).value();
  });
  return bytes;
}

void TwoHosts::pull_cable() { run_on(0, "ip link set link0 down"); }

void TwoHosts::run_on(int host, const std::string& command) const {
  aside([&] {
    enter(host);
    if (std::system(command.c_str()) != 0) throw Error(fmt::format("on host {}: '{}' failed", host, command));
  });
}

int TwoHosts::run_on_both(const std::vector<std::string>& command) const {
  std::array<pid_t, 2> children{};
  for (const int host : {0, 1}) {
    std::vector<std::string> words = {"env", fmt::format("HOST={}", host), "ADDRESS=" + address(host),
                                      "MASTER_ADDR=" + address(0)};
    words.insert(words.end(), command.begin(), command.end());
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    aside([&] {
      enter(host);
      if (::posix_spawnp(&children[static_cast<std::size_t>(host)], "env", nullptr, nullptr, arguments.data(),
                         environ) != 0)
        throw Error("env could not be started");
    });
  }
  int first = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (first == 0) first = code;
  }
  return first;
}

}  // namespace gradwire
