#include "launch/council.h"

#include "base/error.h"
#include "base/text.h"
#include "net/address/socket.h"
#include "net/rendezvous/hosting.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

std::string key(const char* what, int attempt) { return fmt::format("{}/{}", what, attempt); }

std::string key(const char* what, int attempt, int node) {
  return fmt::format("{}/{}/{}", what, attempt, node);
}

// A port that was free a moment ago on every address; the programs are quick to take it. Nobody listens there.
std::uint16_t free_port() { return local_address(bind_to(SocketAddress::any(AF_INET)).get()).port(); }

}  // namespace

Council::Council(const CouncilOptions& options) : options_(options) {
  if (options_.master) place_ = *options_.master;
  door_ = place_;
  if (options_.node == 0) {
    Fd listener = options_.master ? listen_for_ranks(place_, options_.nodes == 1)
                                  : listen_at(SocketAddress::loopback());
    server_ = std::make_unique<StoreServer>(std::move(listener), options_.secret);
    door_ = place_to_connect_to(server_->address());
    if (!options_.master) place_ = door_;
  }
  store_ = enter(options_.node, "launchers");
  take_seat();
}

std::shared_ptr<Store> Council::enter(Rank as, const std::string& space) const {
  TcpStore::Options client{door_, options_.secret, {as, space}};
  client.timeout = options_.timeout;
  return std::make_shared<TcpStore>(client, Deadline::after(options_.timeout));
}

void Council::take_seat() {
  if (options_.node == 0) store_->set("nodes", std::to_string(options_.nodes));
  const auto nodes = store_->get("nodes", Deadline::after(options_.timeout));
  if (nodes != std::to_string(options_.nodes))
    throw ConfigError(fmt::format(
        "the job at {} is of {} node{}, but this launcher was told of {}: write the same --nnodes on all, or "
        "another --master for another job",
        place_.text(), nodes, nodes == "1" ? "" : "s", options_.nodes));
  if (store_->add(fmt::format("seat/{}", options_.node), 1) > 1)
    throw ConfigError(
        fmt::format("node {} of the job at {} has a launcher already: start each node once, with a "
                    "--node-rank of its own",
                    options_.node, place_.text()));
}

// The store keeps no time, so what changes is a number.
void Council::let_hear() { store_->set(fmt::format("alive/{}", options_.node), std::to_string(++beats_)); }

bool Council::is_silent(int node) {
  const auto now = store_->find(fmt::format("alive/{}", node));
  const auto [found, first] = heard_.try_emplace(node, Heard{now, Deadline::after(options_.timeout)});
  if (found->second.last != now) found->second = {now, Deadline::after(options_.timeout)};
  return !first && found->second.until.passed();
}

// In these two a store that is gone is not the news.
void Council::report_lost_rank(Rank rank, const std::string& reason) {
  try {
    if (ranks_) report_lost(*ranks_, rank, reason);
  } catch (const TransportError&) {
    // The ranks have lost it too.
  }
}

bool Council::has_done_its_work(Rank rank) {
  try {
    return ranks_ && !ranks_->find(fmt::format("done/{}", rank)).empty();
  } catch (const TransportError&) {
    return false;
  }
}

Seating Council::begin(int attempt, int local_ranks) {
  const auto deadline = Deadline::after(options_.timeout);
  store_->set(key("ranks", attempt, options_.node), std::to_string(local_ranks));
  if (options_.node == 0) {
    store_->set(key("restarts", attempt), std::to_string(options_.max_restarts));
    store_->set(key("port", attempt), std::to_string(free_port()));
  }
  Seating seating;
  seating.attempt = attempt;
  seating.local_size = local_ranks;
  seating.size = 0;
  for (int node = 0; node < options_.nodes; ++node) {
    if (node == options_.node) seating.first_rank = seating.size;
    seating.size += find_integer<int>(hear_from(node, key("ranks", attempt, node), deadline)).value_or(0);
  }
  seating.max_restarts = find_integer<int>(hear_from(0, key("restarts", attempt), deadline)).value_or(0);
  seating.master_port = parse_port(hear_from(0, key("port", attempt), deadline));
  seating.master_host = place_.host;
  seating.store = fmt::format("{}/{}", place_.text(), attempt);
  ranks_ = enter(-1, std::to_string(attempt));
  heard_.clear();
  return seating;
}

std::string Council::hear_from(int node, const std::string& key, Deadline deadline) {
  try {
    return get_from(*store_, node, key, deadline);
  } catch (const PeerLost&) {
    throw PeerLost(node, fmt::format("the launcher of node {} is gone", node));
  } catch (const Timeout&) {
    throw Timeout(fmt::format("the launcher of node {} did not come within {}: start it with --node-rank {}",
                              node, format_seconds(options_.timeout), node));
  }
}

void Council::report_failure(int attempt, const Failure& failure) {
  if (store_->add(key("failures", attempt), 1) > 1) return;
  store_->set(key("failure", attempt),
              fmt::format("{} {} {}", failure.exit_code, failure.final ? 1 : 0, failure.text));
}

std::optional<Failure> Council::find_failure(int attempt) {
  const auto text = store_->find(key("failure", attempt));
  const auto fields = split(text, ' ');
  if (fields.size() > 2)
    return Failure{find_integer<int>(fields[0]).value_or(1),
                   text.substr(fields[0].size() + fields[1].size() + 2), fields[1] == "1"};
  const auto lost = find_lost_launcher();
  return lost.empty() ? std::nullopt : std::optional(Failure{1, lost, true});
}

std::string Council::find_lost_launcher() {
  if (options_.nodes > 1) let_hear();
  for (int node = 0; node < options_.nodes; ++node) {
    if (node == options_.node || !store_->find(fmt::format("left/{}", node)).empty()) continue;
    if (!store_->find(fmt::format("lost/{}", node)).empty())
      return fmt::format("the launcher of node {} is gone", node);
    if (is_silent(node))
      return fmt::format("the launcher of node {} has been silent for {}: it is stopped or cut off", node,
                         format_seconds(options_.timeout));
  }
  return {};
}

void Council::report_end(int attempt) { store_->set(key("ended", attempt, options_.node), "ended"); }

bool Council::has_ended(int attempt) {
  bool all = true;
  for (int node = 0; node < options_.nodes; ++node)
    all = all && !store_->find(key("ended", attempt, node)).empty();
  return all || !find_lost_launcher().empty();
}

void Council::leave() {
  store_->set(fmt::format("left/{}", options_.node), "bye");
  if (!server_) return;
  const auto deadline = Deadline::after(options_.timeout);
  for (int node = 1; node < options_.nodes; ++node) {
    try {
      get_from(*store_, node, fmt::format("left/{}", node), deadline);
    } catch (const TransportError&) {
      // It is gone or silent, and needs the store no more.
    }
  }
}

}  // namespace gradwire
