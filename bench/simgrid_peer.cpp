#include "simgrid_peer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <simgrid/s4u.hpp>

#include <csignal>
#include <ctime>
#include <string>
#include <vector>

#include "base/error.h"

namespace gradwire {
namespace {

namespace sg = simgrid::s4u;

char token;  // what messages point at; nobody reads it

std::string host_name(int host) { return fmt::format("host{}", host); }

void build_star(const PeerCall& call) {
  sg::NetZone* zone = sg::create_star_zone("star");
  for (int i = 0; i < call.hosts; ++i) {
    sg::Host* host = zone->create_host(host_name(i), 1e9);
    sg::SplitDuplexLink* link = zone->create_split_duplex_link(fmt::format("link{}", i), call.bytes_per_s);
    link->set_latency(call.latency)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, sg::LinkInRoute::Direction::UP}},
                    true);
  }
  zone->seal();
}

void build_fat_tree(const PeerCall& call) {
  const auto leaf = static_cast<unsigned>(call.hosts_per_leaf);
  const auto make_host = [](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    sg::Host* host = zone->create_host(host_name(static_cast<int>(id)), 1e9);
    return std::pair<simgrid::kernel::routing::NetPoint*, simgrid::kernel::routing::NetPoint*>(
        host->get_netpoint(), nullptr);
  };
  sg::create_fatTree_zone(
      "tree", nullptr, {2, {leaf, static_cast<unsigned>(call.hosts) / leaf}, {1, leaf}, {1, 1}},
      sg::ClusterCallbacks(make_host), call.bytes_per_s, call.latency, sg::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
}

// Round by round, as rings are written in S4U: a rank goes on when it has sent and received. Ours goes on
// with a chunk when that chunk is there, so it pays the latency of the farthest hop in fewer rounds where
// hops differ.
void ring(const PeerCall& call, int me) {
  sg::Mailbox* next = sg::Mailbox::by_name(host_name((me + 1) % call.hosts));
  sg::Mailbox* mine = sg::Mailbox::by_name(host_name(me));
  for (int s = 0; s < 2 * (call.hosts - 1); ++s) {
    const sg::CommPtr sent = next->put_async(&token, call.bytes / static_cast<Bytes>(call.hosts));
    mine->get<char>();
    sent->wait();
  }
}

void all_to_all(const PeerCall& call, int me) {
  sg::Mailbox* mine = sg::Mailbox::by_name(host_name(me));
  std::vector<char*> got(static_cast<std::size_t>(call.hosts) - 1);
  std::vector<sg::CommPtr> receives;
  for (char*& place : got) receives.push_back(mine->get_async<char>(&place));
  for (int distance = 1; distance < call.hosts; ++distance)
    sg::Mailbox::by_name(host_name((me + distance) % call.hosts))
        ->put_init(&token, call.bytes / static_cast<Bytes>(call.hosts))
        ->detach();
  for (const sg::CommPtr& receive : receives) receive->wait();
}

PeerResult simulate_here(const PeerCall& call) {
  std::vector<std::string> words = {"peer",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/TCP-gamma:0",
                                    "--cfg=network/crosstraffic:0",
                                    "--cfg=contexts/stack-size:64",
                                    "--log=root.thres:error"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  sg::Engine engine(&count, arguments.data());
  call.wiring == Wiring::star ? build_star(call) : build_fat_tree(call);
  for (int i = 0; i < call.hosts; ++i)
    sg::Actor::create(host_name(i), engine.host_by_name(host_name(i)),
                      [&call, i] { call.pattern == Pattern::ring ? ring(call, i) : all_to_all(call, i); });
  const Seconds begin = processor_time();
  engine.run();
  return {sg::Engine::get_clock(), processor_time() - begin};
}

[[noreturn]] void be_the_child(const PeerCall& call, int to_parent) {
  const PeerResult result = simulate_here(call);
  _exit(write(to_parent, &result, sizeof result) == sizeof result ? 0 : 1);
}

}  // namespace

Seconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::optional<PeerResult> run_simgrid(const PeerCall& call, Seconds limit) {
  int ends[2];
  if (pipe(ends) != 0) throw_system_error("pipe");
  const pid_t child = fork();
  if (child < 0) throw_system_error("fork");
  if (child == 0) be_the_child(call, ends[1]);
  close(ends[1]);
  pollfd readable{ends[0], POLLIN, 0};
  PeerResult result;
  const bool told = poll(&readable, 1, static_cast<int>(limit * 1e3)) == 1 &&
                    read(ends[0], &result, sizeof result) == sizeof result;
  if (!told) kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  return told ? std::optional(result) : std::nullopt;
}

}  // namespace gradwire
