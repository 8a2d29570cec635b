#include "launch/council.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "net/address/socket.h"
#include "net/rendezvous/hosting.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

constexpr const char* kEndedWell = "well";  // the last word on an attempt
constexpr Seconds kShortly = 1;             // for an answer of the store while an attempt runs

// As --nnodes is written.
std::string nodes_text(int least, int most) {
  return least == most ? std::to_string(most) : fmt::format("{}:{}", least, most);
}

}  // namespace

Council::Council(const CouncilOptions& options)
    : options_(options),
      least_(options.least > 0 ? options.least : options.nodes),
      name_(make_secret().substr(0, 8)) {
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

// What one connection has waited for in vain the other need not wait for again.
template <typename Question>
auto Council::ask(Store& store, const Question& question) {
  if (!out_of_reach_.empty()) throw TransportError(out_of_reach_);
  try {
    auto answer = question(store, running_ ? Deadline::after(kShortly) : Deadline::never());
    silent_until_.reset();
    return answer;
  } catch (const Timeout& error) {
    if (!silent_until_) silent_until_ = Deadline::after(running_ ? options_.timeout - kShortly : 0);
    if (!silent_until_->passed()) throw StoreSilent(error.what());
    out_of_reach_ = error.what();
    throw;
  } catch (const TransportError& error) {
    out_of_reach_ = error.what();
    throw;
  }
}

std::string Council::key_of(const char* what, int attempt) { return fmt::format("{}/{}", what, attempt); }

void Council::set(const std::string& key, const std::string& value) {
  ask(*store_, [&](Store& store, Deadline answer) {
    store.set(key, value, answer);
    return true;
  });
}

std::string Council::find(const std::string& key) {
  return ask(*store_, [&](Store& store, Deadline answer) { return store.find(key, answer); });
}

std::string Council::find(const char* what, int number) { return find(fmt::format("{}/{}", what, number)); }

std::shared_ptr<Store> Council::enter(Rank as, const std::string& space) const {
  TcpStore::Options client{door_, options_.secret, {as, space}};
  client.timeout = options_.timeout;
  return std::make_shared<TcpStore>(client, Deadline::after(options_.timeout));
}

// Who had the seat before may have it again, and so may anybody when its launcher is gone.
void Council::take_seat() {
  const auto mine = nodes_text(least_, options_.nodes);
  if (options_.node == 0) set("nodes", mine);
  const auto nodes = store_->get("nodes", Deadline::after(options_.timeout));
  if (nodes != mine)
    throw ConfigError(fmt::format(
        "the job at {} is of {} node{}, but this launcher was told of {}: write the same --nnodes on all, or "
        "another --master for another job",
        place_.text(), nodes, nodes == "1" ? "" : "s", mine));
  const bool first = store_->add(fmt::format("seat/{}", options_.node), 1) == 1;
  if (!first && find("holder", options_.node) != name_ && !is_gone(options_.node))
    throw ConfigError(
        fmt::format("node {} of the job at {} has a launcher already: start each node once, with a "
                    "--node-rank of its own",
                    options_.node, place_.text()));
  set(fmt::format("holder/{}", options_.node), name_);
  // What the launcher before was ready for is not this one's; first this, or the seat would look taken and ready.
  set(fmt::format("ready/{}", options_.node), "");
  for (const char* farewell : {"lost", "left"}) set(fmt::format("{}/{}", farewell, options_.node), "");
  seated_ = true;
}

// The store keeps no time, so what changes is a number.
void Council::let_hear() { set(fmt::format("alive/{}", options_.node), std::to_string(++beats_)); }

Seconds Council::silence_of(int node) {
  const auto now = find("alive", node);
  const auto [found, first] = heard_.try_emplace(node, Heard{now, Deadline::after(options_.timeout)});
  if (found->second.last != now) found->second = {now, Deadline::after(options_.timeout)};
  return first ? 0 : options_.timeout - found->second.until.remaining();
}

bool Council::is_gone(int node) {
  return !find("lost", node).empty() || !find("left", node).empty() ||
         (node != options_.node && silence_of(node) >= options_.timeout);
}

// For what is asked of the ranks' space a store that is gone is not the news: whoever asks the launchers' next says so.
void Council::report_lost_rank(Rank rank, const std::string& reason) {
  if (!ranks_ || !out_of_reach_.empty()) return;
  try {
    ask(*ranks_, [&](Store& ranks, Deadline answer) {
      report_lost(ranks, rank, reason, answer);
      return true;
    });
  } catch (const StoreSilent&) {
    throw;
  } catch (const TransportError&) {
  }
}

std::string Council::find_of_ranks(const std::string& name) {
  if (!ranks_ || !out_of_reach_.empty()) return {};
  try {
    return ask(*ranks_, [&](Store& ranks, Deadline answer) { return ranks.find(name, answer); });
  } catch (const StoreSilent&) {
    throw;
  } catch (const TransportError&) {
    return {};
  }
}

bool Council::has_joined(Rank rank) { return !find_of_ranks(fmt::format("joined/{}", rank)).empty(); }

bool Council::has_done_its_work(Rank rank) { return find_of_ranks(fmt::format("done/{}", rank)) == "done"; }

bool Council::needs_nobody(Rank rank) { return !find_of_ranks(fmt::format("done/{}", rank)).empty(); }

bool Council::all_work_is_done() {
  for (Rank rank = 0; rank < roster_.ranks(); ++rank)
    if (!has_done_its_work(rank)) return false;
  return true;
}

std::string Council::describe_losses(int ranks) {
  std::vector<std::string> absent, said;
  for (Rank rank = 0; rank < ranks; ++rank)
    if (!has_joined(rank)) absent.push_back(fmt::format("rank {}", rank));
  const auto first = ranks > 0 ? find_of_ranks("lost/earliest") : std::string();
  if (!absent.empty()) said.push_back(fmt::format("{} had not joined", join(absent, ", ")));
  if (!first.empty()) said.push_back(fmt::format("rank {} is gone", first));
  return out_of_reach_.empty() ? join(said, "; ") : std::string();
}

// By the last word on the last attempt, after which node 0 has left.
bool Council::has_ended_well() {
  const auto last = find_integer<int>(find("generation"));
  return last && !find("left", 0).empty() && find(key_of("verdict", *last)) == kEndedWell;
}

void Council::rejoin() {
  ranks_.reset();
  store_.reset();  // a connection that broke stays broken
  out_of_reach_.clear();
  silent_until_.reset();
  running_ = seated_ = false;
  store_ = enter(options_.node, "launchers");
  heard_.clear();
}

void Council::claim_last_word(int attempt, const std::string& text) {
  ask(*store_,
      [&](Store& store, Deadline answer) { return store.offer(key_of("verdict", attempt), text, answer); });
}

void Council::report_failure(int attempt, const Failure& failure) {
  claim_last_word(attempt, fmt::format("{} {} {}", failure.exit_code, failure.final ? 1 : 0, failure.text));
}

std::optional<Failure> Council::find_failure(int attempt) {
  const auto text = find(key_of("verdict", attempt));
  if (text == kEndedWell) return std::nullopt;
  const auto fields = split(text, ' ');
  if (fields.size() > 2)
    return Failure{find_integer<int>(fields[0]).value_or(1),
                   text.substr(fields[0].size() + fields[1].size() + 2), fields[1] == "1"};
  const auto lost = find_lost_launcher();
  return lost.empty() ? std::nullopt : std::optional(Failure{1, lost, false});
}

// Launchers that are gone are named by who noticed first: soon it is noticed of that one that it has begun anew.
std::optional<Failure> Council::conclude(int attempt) {
  if (all_have_ended(attempt) || all_work_is_done())
    claim_last_word(attempt, kEndedWell);
  else if (const auto lost = find_lost_launcher(); !lost.empty())
    report_failure(attempt, {1, lost, false});
  return find_failure(attempt);
}

// Of the nodes that take part in this attempt.
std::string Council::find_lost_launcher(Seconds patience) {
  if (options_.nodes > 1) let_hear();
  for (const auto& [node, ranks, token] : roster_.entries) {
    if (node == options_.node || !find("left", node).empty()) continue;
    if (!find("lost", node).empty()) return fmt::format("the launcher of node {} is gone", node);
    if (const auto silence = silence_of(node); silence >= std::min(patience, options_.timeout))
      return fmt::format("the launcher of node {} has been silent for {}: it is stopped or cut off", node,
                         format_seconds(silence));
    if (const auto now = NodeRoster::parse_ready(node, find("ready", node)); !now || now->token != token)
      return fmt::format("the launcher of node {} has begun anew", node);
  }
  return {};
}

void Council::report_end(int attempt) {
  set(fmt::format("{}/{}", key_of("ended", attempt), options_.node), "ended");
}

bool Council::all_have_ended(int attempt) {
  return std::all_of(roster_.entries.begin(), roster_.entries.end(), [&](const NodeRoster::Entry& entry) {
    return !find(key_of("ended", attempt).c_str(), entry.node).empty();
  });
}

// One that has begun anew has let this attempt go.
bool Council::has_ended(int attempt) { return all_have_ended(attempt) || !find_lost_launcher().empty(); }

void Council::give_up_store(const std::string& why) { out_of_reach_ = why; }

void Council::say_goodbye() { set(fmt::format("left/{}", options_.node), "bye"); }

// One that waits for a place in the next attempt too, and lets hear from itself all the time: it has to hear how the last one ended.
bool Council::is_needed() {
  constexpr Seconds kWaiting = 2;
  for (int node = 1; server_ && node < options_.nodes; ++node) {
    if (find("holder", node).empty() || is_gone(node)) continue;
    if (roster_.find(node) != nullptr || silence_of(node) < kWaiting) return true;
  }
  return false;
}

}  // namespace gradwire
