#include "net/rendezvous/hosting.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/secret.h"
#include "base/text.h"
#include "net/address/interface.h"
#include "net/address/socket.h"
#include "net/rendezvous/secret.h"
#include "net/store/server.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

TcpStore::Options client_options(const HostPort& place, const Meeting& meeting) {
  TcpStore::Options options{place, meeting.secret, {meeting.rank, ""}};
  options.timeout = meeting.timeout;
  if (meeting.rank != 0) options.host = 0;
  return options;
}

// Rank 0's side: the server, a client of it, and the file that leads to it.
class HostedStore {
 public:
  HostedStore(Fd listener, const Meeting& meeting, Deadline deadline)
      : server_(std::move(listener), meeting.secret),
        client_(client_options(place_to_connect_to(server_.address()), meeting), deadline) {
    client_.set("store/host", std::to_string(meeting.rank));
  }
  ~HostedStore() {
    std::error_code ignored;
    if (!file_.empty()) std::filesystem::remove(file_, ignored);
  }
  HostedStore(const HostedStore&) = delete;
  HostedStore& operator=(const HostedStore&) = delete;

  void publish(const std::filesystem::path& file, const std::string& secret) {
    write_file(file, fmt::format("{}\n{}\n", place_to_connect_to(server_.address()).text(), secret), 0600);
    file_ = file;
  }
  Store& client() { return client_; }

 private:
  StoreServer server_;
  TcpStore client_;
  std::filesystem::path file_;
};

std::shared_ptr<Store> client_of(const std::shared_ptr<HostedStore>& hosted) {
  return {hosted, &hosted->client()};
}

// Debian and others give a machine's own name a loopback address, on that machine alone: whoever writes a
// name instead of localhost means an address that other machines know.
bool misleads_its_own_machine(const HostPort& place, const SocketAddress& resolved) {
  return resolved.is_loopback() && place.host != "localhost" && place.host != resolved.host();
}

// The place itself if it is an address of this machine; everywhere if it leads here in another way.
SocketAddress listening_address(const HostPort& place, bool all_on_host) {
  const auto address = resolve(place).at(0);
  if (address.is_loopback() && (all_on_host || !misleads_its_own_machine(place, address))) return address;
  const auto interfaces = list_interfaces();
  const bool ours = std::any_of(interfaces.begin(), interfaces.end(),
                                [&](const Interface& entry) { return entry.address.same_host(address); });
  return ours && !address.is_loopback() ? address : SocketAddress::any(address.family(), place.port);
}

Fd listen_or_explain(const SocketAddress& address) {
  try {
    return listen_at(address);
  } catch (const TransportError& error) {
    throw ConfigError(fmt::format("can't host the store: {}; choose another port, or end the job that has it",
                                  error.what()));
  }
}

struct Directions {
  HostPort place;
  std::string secret;
};

std::optional<Directions> find_directions(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const auto content = read_private_file(file);
  const auto lines = split(content, '\n');
  if (lines.size() != 2)
    throw ConfigError(fmt::format("{} was not written by rank 0 of a job: remove it", file.string()));
  return Directions{parse_host_port(lines[0]), std::string(lines[1])};
}

// A file that an earlier job left behind leads nowhere, or to a store with another secret: then rank 0 will
// replace it, so look again.
std::shared_ptr<Store> follow_file(const std::filesystem::path& path, Meeting& meeting, HostPort& place,
                                   Deadline deadline) {
  std::string reason = "it does not exist";
  for (;;) {
    const auto directions = find_directions(path);
    if (directions) {
      meeting.secret = directions->secret;
      place = directions->place;
      try {
        const auto attempt = Deadline::after(std::min(1.0, deadline.remaining()));
        return std::make_shared<TcpStore>(client_options(place, meeting), attempt);
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    if (deadline.passed())
      throw Timeout(fmt::format("rank {} waited in vain for rank 0 to write {}: {}", meeting.rank,
                                path.string(), reason));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

HostPort place_to_connect_to(const SocketAddress& listening) {
  const bool everywhere = listening.same_host(SocketAddress::any(listening.family()));
  if (!everywhere) return {listening.host(), listening.port()};
  return {listening.family() == AF_INET ? "127.0.0.1" : "::1", listening.port()};
}

Fd listen_for_ranks(const HostPort& place, bool all_on_host) {
  return listen_or_explain(listening_address(place, all_on_host));
}

std::shared_ptr<Store> meet_at(const HostPort& place, const Meeting& meeting, Deadline deadline) {
  if (meeting.rank != 0) return std::make_shared<TcpStore>(client_options(place, meeting), deadline);
  return client_of(
      std::make_shared<HostedStore>(listen_for_ranks(place, meeting.all_on_host), meeting, deadline));
}

std::shared_ptr<Store> meet_through_file(const std::filesystem::path& path, Meeting& meeting, HostPort& place,
                                         Deadline deadline) {
  if (meeting.rank != 0) return follow_file(path, meeting, place, deadline);
  meeting.secret = make_secret();
  Fd listener = listen_or_explain(choose_address(meeting.interface));
  place = place_to_connect_to(local_address(listener.get()));
  const auto hosted = std::make_shared<HostedStore>(std::move(listener), meeting, deadline);
  hosted->publish(path, meeting.secret);
  return client_of(hosted);
}

std::string interface_towards(const HostPort& place, bool all_on_host) {
  const auto address = resolve(place).at(0);
  if (!address.is_loopback()) return address_towards(address).host();
  if (all_on_host || !misleads_its_own_machine(place, address)) return {};
  for (const auto& interface : list_interfaces())
    if (interface.up && !interface.address.is_loopback()) return interface.address.host();
  return {};
}

}  // namespace gradwire
