// How much of a network link the tcp backend uses: an all-reduce of 64 MiB between two hosts (network
// namespaces, shaped to 1 and 10 Gbit/s), in turns with `iperf3 --bidir` on the same cable. With two ranks an
// all-reduce moves its size once in each direction, so both are rates per direction. Needs root and iperf3.
//
//   build/cable_bench [rounds]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "comm/make.h"
#include "namespaces/two_hosts.h"
#include "support/run_ranks.h"

namespace {

using namespace gradwire;

constexpr std::size_t kBytes = 64 << 20;

void shell(const TwoHosts& hosts, int host, const std::string& command) {
  std::thread([&] {
    hosts.enter(host);
    if (std::system(command.c_str()) != 0) throw Error("failed: " + command);
  }).join();
}

// Gbit/s that arrive, the mean of both directions. Now and then iperf3 fails to connect, or forgets one
// direction.
double iperf(const TwoHosts& hosts) {
  const TempDir directory;
  const auto report = (directory.path() / "report").string();
  for (int attempt = 0; attempt < 5; ++attempt) {
    shell(hosts, 1, "iperf3 -s -1 -D >/dev/null 2>&1; sleep 0.5");
    shell(hosts, 0,
          fmt::format("iperf3 -c {} --bidir -t 3 -O 1 -J >{} || true", TwoHosts::address(1), report));
    const auto end = nlohmann::json::parse(read_file(report)).value("end", nlohmann::json::object());
    if (!end.contains("sum_received") || !end.contains("sum_received_bidir_reverse")) continue;
    return (end["sum_received"]["bits_per_second"].get<double>() +
            end["sum_received_bidir_reverse"]["bits_per_second"].get<double>()) /
           2e9;
  }
  throw Error("iperf3 --bidir gave no result in five attempts");
}

// Gbit/s of an all-reduce, the median of several.
double all_reduce_rate(const TwoHosts& hosts) {
  const TempDir directory;
  RunOptions options;
  options.interface = TwoHosts::kNetwork;
  options.before_join = [&hosts](Rank rank) { hosts.enter(rank); };
  const auto outcomes = run_processes(
      2,
      [&](const World& world) {
        const auto communicator = make_communicator(world, "tcp");
        const Memory memory = communicator->allocate(kBytes);
        std::vector<double> times;
        for (int i = 0; i < 6; ++i) {
          communicator->run(barrier());
          const auto begin = std::chrono::steady_clock::now();
          communicator->run(all_reduce(memory.bytes(), DType::f32));
          times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(times.begin() + 1, times.end());  // the first is warm-up
        if (world.rank == 0) write_file(directory.path() / "time", std::to_string(times[times.size() / 2]));
      },
      options);
  for (const auto& outcome : outcomes)
    if (!outcome.ok()) throw Error(describe(outcome));
  return static_cast<double>(kBytes) * 8 / std::stod(read_file(directory.path() / "time")) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto obstacle = TwoHosts::find_obstacle()) {
    fmt::print(stderr, "cable_bench: {}\n", *obstacle);
    return 2;
  }
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  fmt::print("{:>8} {:>6} {:>16} {:>20} {:>8}\n", "Gbit/s", "round", "iperf3 --bidir", "tcp all_reduce",
             "share");
  for (const double speed : {1.0, 10.0})
    for (int round = 1; round <= rounds; ++round) {
      const TwoHosts hosts(speed);
      const double peer = iperf(hosts), ours = all_reduce_rate(hosts);
      fmt::print("{:>8} {:>6} {:>16.3f} {:>20.3f} {:>7.1f}%\n", speed, round, peer, ours, 100 * ours / peer);
      std::fflush(stdout);
    }
}
