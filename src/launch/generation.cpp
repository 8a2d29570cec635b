// How the launchers of a job come to a generation: those that are ready are drawn up by node 0, and each finds its place.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "launch/council.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

constexpr Seconds kLastCall = 3;  // for more nodes than are needed
constexpr std::chrono::milliseconds kLookEvery(20);

// A port that was free a moment ago on every address; the programs are quick to take it. Nobody listens there.
std::uint16_t free_port() { return local_address(bind_to(SocketAddress::any(AF_INET)).get()).port(); }

}  // namespace

// Those that are there and have said so since the roster before.
NodeRoster Council::ready_nodes() {
  NodeRoster ready;
  for (int node = 0; node < options_.nodes; ++node) {
    const auto entry = NodeRoster::parse_ready(node, find("ready", node));
    const auto* const before = roster_.find(node);
    if (!entry || (before != nullptr && before->token == entry->token) || is_gone(node)) continue;
    ready.entries.push_back(*entry);
  }
  return ready;
}

// Launchers that are there but not ready yet are still busy with the end of the attempt before.
bool Council::all_have_answered(const NodeRoster& ready) {
  for (int node = 0; node < options_.nodes; ++node)
    if (ready.find(node) == nullptr && !find("holder", node).empty() && !is_gone(node)) return false;
  return true;
}

void Council::give_up(const NodeRoster& ready) {
  std::vector<std::string> missing;
  for (int node = 0; node < options_.nodes; ++node)
    if (ready.find(node) == nullptr) missing.push_back(std::to_string(node));
  throw Timeout(fmt::format("the launcher{} of node {} did not come within {}: start {} with --node-rank {}",
                            missing.size() == 1 ? "" : "s", join(missing, ", "),
                            format_seconds(options_.timeout), missing.size() == 1 ? "it" : "each",
                            missing.front()));
}

// With all there is no need to wait; with enough, others have a moment to come.
void Council::draw_up_roster(int attempt) {
  const auto deadline = Deadline::after(options_.timeout);
  Deadline last_call = Deadline::after(kLastCall);
  NodeRoster ready;
  for (;;) {
    let_hear();
    ready = ready_nodes();
    const auto count = static_cast<int>(ready.entries.size());
    if (count == options_.nodes) break;
    if (count < least_) last_call = Deadline::after(std::min(kLastCall, deadline.remaining()));
    if (count >= least_ && last_call.passed() && (all_have_answered(ready) || deadline.passed())) break;
    if (deadline.passed()) give_up(ready);
    std::this_thread::sleep_for(kLookEvery);
  }
  set(key_of("restarts", attempt), std::to_string(options_.max_restarts));
  set(key_of("port", attempt), std::to_string(free_port()));
  set(key_of("roster", attempt), ready.text());
  set("generation", std::to_string(attempt));
}

std::optional<Seating> Council::find_seating() {
  const auto attempt = find_integer<int>(find("generation"));
  if (!attempt || *attempt <= last_attempt_) return std::nullopt;
  const auto roster = NodeRoster::parse(find(key_of("roster", *attempt)));
  const auto* const mine = roster.find(options_.node);
  if (mine == nullptr || mine->token != fmt::format("{}.{}", name_, times_ready_)) return std::nullopt;
  return take_place(*attempt, roster, *mine);
}

Seating Council::take_place(int attempt, const NodeRoster& roster, const NodeRoster::Entry& mine) {
  Seating seating;
  seating.attempt = last_attempt_ = attempt;
  seating.roster = roster_ = roster;
  seating.local_size = mine.ranks;
  seating.size = roster.ranks();
  for (const auto& entry : roster.entries) {
    if (entry.node == mine.node) break;
    seating.first_rank += entry.ranks;
    ++seating.group_rank;
  }
  seating.max_restarts = find_integer<int>(find(key_of("restarts", attempt))).value_or(0);
  seating.master_port = parse_port(find(key_of("port", attempt)));
  seating.master_host = place_.host;
  seating.store = fmt::format("{}/{}", place_.text(), attempt);
  ranks_ = enter(-1, std::to_string(attempt));
  heard_.clear();
  return seating;
}

// Node 0 stays for a while after its last word. To come back would be in vain then.
void Council::hear_of_the_end() {
  if (find("left", 0).empty()) throw TransportError("the launcher of node 0 is gone");
  if (!has_ended_well()) throw Error("the job has failed without this node: the launcher of node 0 says how");
  say_goodbye();
}

std::optional<Seating> Council::begin(int local_ranks) {
  running_ = false;
  if (!seated_) take_seat();
  set(fmt::format("ready/{}", options_.node), fmt::format("{}:{}.{}", local_ranks, name_, ++times_ready_));
  if (options_.node == 0) draw_up_roster(last_attempt_ + 1);
  for (;;) {
    const bool alone = options_.node != 0 && is_gone(0);  // first: what it wrote before it left counts
    const auto seating = find_seating();
    running_ = seating.has_value();
    if (seating) return seating;
    let_hear();
    if (alone) {
      hear_of_the_end();
      return std::nullopt;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace gradwire
