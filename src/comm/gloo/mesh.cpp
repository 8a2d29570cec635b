#include "comm/gloo/mesh.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <future>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "net/address/interface.h"
#include "net/exchange.h"

namespace gradwire {
namespace {

constexpr std::string_view kDevices = "gloo/device", kConnected = "gloo/connected";

// The world's store as Gloo wants one. Gloo's keys end in the number of the rank that writes them, so a rank
// that is lost is noticed at once.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  explicit GlooStore(const World& world) : world_(world), deadline_(Deadline::after(world.timeout)) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    world_.store->set(full(key), {data.data(), data.size()});
  }

  std::vector<char> get(const std::string& key) override {
    const std::string value = fetch(key);
    return {value.begin(), value.end()};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const auto& key : keys) fetch(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override { wait(keys); }

 private:
  std::string full(const std::string& key) const { return fmt::format("{}/gloo/{}", world_.name, key); }

  std::string fetch(const std::string& key) {
    const auto digits = key.find_last_not_of("0123456789") + 1;
    const auto writer = find_integer<Rank>(std::string_view(key).substr(digits));
    if (!writer || *writer >= world_.size) return world_.store->get(full(key), deadline_);
    return get_from(*world_.store, world_.global(*writer), full(key), deadline_);
  }

  const World world_;  // later versions of Gloo keep the store for as long as the context
  const Deadline deadline_;
};

// Gloo took the store by reference, and shares it since it connects lazily.
template <typename Context, typename Device>
void connect(Context& context, const std::shared_ptr<gloo::rendezvous::Store>& store, Device& device) {
  if constexpr (requires { context.connectFullMesh(store, device); })
    context.connectFullMesh(store, device);
  else
    context.connectFullMesh(*store, device);
}

// Gloo waits for a peer to connect without a look at whether it still lives. So a thread of its own connects, while this
// one looks; when a rank is lost the thread is left to its timeout, with all that it uses.
void connect_watched(const World& world, const std::shared_ptr<gloo::rendezvous::Context>& context,
                     const std::shared_ptr<gloo::transport::Device>& device) {
  constexpr std::chrono::milliseconds kLookEvery(100);
  std::packaged_task<void()> connecting([world, context, mine = device]() mutable {
    const BrokenPipeGuard guard;
    connect(*context, std::make_shared<GlooStore>(world), mine);
  });
  auto connected = connecting.get_future();
  std::thread(std::move(connecting)).detach();
  while (connected.wait_for(kLookEvery) != std::future_status::ready)
    for (Rank peer = 0; peer < world.size; ++peer)
      if (peer != world.rank) check_exchange(world, kDevices, peer);
  connected.get();
}

std::shared_ptr<gloo::transport::Device> make_device(const World& world) {
  const SocketAddress address = choose_address(world.interface);
  // Gloo takes whoever connects first for a peer: a stranger could end the job, or join it.
  if (!address.is_loopback() && !world.trusts_network)
    throw ConfigError(fmt::format(
        "gloo would listen on {} and believe whoever connects: take tcp or shm+tcp, whose ranks prove "
        "themselves, or --trust-network (GRADWIRE_TRUST_NETWORK=1) where nobody else reaches it",
        address.host()));
  gloo::transport::tcp::attr attributes;
  attributes.hostname = address.host();
  return gloo::transport::tcp::CreateDevice(attributes);
}

}  // namespace

std::chrono::milliseconds gloo_timeout(Seconds timeout) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::clamp(timeout * 1e3, 1.0, 1e9)));
}

std::shared_ptr<gloo::Context> connect_mesh(const World& world) {
  const BrokenPipeGuard guard;
  std::shared_ptr<gloo::transport::Device> device;
  exchange(world, kDevices, Deadline::after(world.timeout), [&] {
    device = make_device(world);
    return device->str();
  });
  auto context = std::make_shared<gloo::rendezvous::Context>(world.rank, world.size);
  context->setTimeout(gloo_timeout(world.timeout));
  connect_watched(world, context, device);
  return context;
}

void await_all_connected(const World& world) {
  exchange(world, kConnected, Deadline::after(world.timeout), [] { return std::string(); });
}

// Gloo closes all connections of a context when a wait times out, which is the one public way to do that;
// nobody sends what is waited for here.
void break_off(gloo::Context& context) noexcept {
  try {
    const BrokenPipeGuard guard;
    char nothing = 0;
    context.createUnboundBuffer(&nothing, 1)->waitRecv(std::chrono::milliseconds(1));
  } catch (...) {
  }
}

}  // namespace gradwire
