#include "net/tcp/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <filesystem>

#include "base/error.h"
#include "net/address/socket.h"
#include "net/tcp/handshake.h"
#include "net/tcp/tcp_transport.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

Deadline soon() { return Deadline::after(20); }

SocketAddress address_of(const World& world, Rank rank) {
  const auto key = world.name + "/tcp addresses/" + std::to_string(rank);
  const auto published = world.store->get(key, soon());  // "+127.0.0.1:4000 2"
  return resolve(parse_host_port(published.substr(1, published.find(' ') - 1))).front();
}

// Exchanges a byte with the other rank of two.
void talk(Transport& transport) {
  const std::byte out{7};
  std::byte in{};
  transport.send(1 - transport.rank(), {}, std::span(&out, 1), 1);
  transport.recv(1 - transport.rank(), {}, std::span(&in, 1), 2);
  transport.wait_any(soon());
  transport.wait_any(soon());
  EXPECT_EQ(in, out);
}

void send_text(const Fd& socket, const std::string& text) {
  EXPECT_EQ(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

TEST(Mesh, is_not_disturbed_by_strangers) {
  expect_all_ok(run_threads(2, [](const World& world) {
    if (world.rank == 0) return talk(*make_tcp_transport(world));
    const auto address = address_of(world, 0);
    std::vector<Fd> strangers;
    for (int i = 0; i < 300; ++i) strangers.push_back(connect_to(address, soon()));  // these say nothing
    for (int i = 0; i < 10; ++i) send_text(strangers[i * 20], std::string(1000, static_cast<char>(i)));
    for (int i = 0; i < 10; ++i) strangers[i * 20 + 5].reset();
    World liar = world;
    liar.secret = "guessed";
    Handshake handshake(connect_to(address, soon()), liar, {1, 0, 0});
    handshake.advance();
    talk(*make_tcp_transport(world));
  }));
}

// They would have ten seconds to say something.
TEST(Mesh, takes_descriptors_back_from_strangers) {
  expect_all_ok(run_processes(2,
                              [](const World& world) {
                                if (world.rank == 0) {
                                  rlimit few{};
                                  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &few), 0);
                                  few.rlim_cur = static_cast<rlim_t>(Fd(::dup(0)).get()) + 12;
                                  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
                                  return talk(*make_tcp_transport(world));
                                }
                                const auto address = address_of(world, 0);
                                std::vector<Fd> strangers;
                                for (int i = 0; i < 60; ++i) strangers.push_back(connect_to(address, soon()));
                                talk(*make_tcp_transport(world));
                              },
                              {.timeout = 8}));
}

TEST(Mesh, stops_listening_once_it_stands) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto transport = make_tcp_transport(world);
    EXPECT_THROW(connect_to(address_of(world, 0), soon()), TransportError);
    EXPECT_THROW(connect_to(address_of(world, 1), soon()), TransportError);
    talk(*transport);
  }));
}

TEST(Mesh, tells_all_ranks_when_one_has_another_secret) {
  const auto outcomes = run_threads(2, [](World world) {
    if (world.rank == 1) world.secret = "another";
    make_tcp_transport(world);
  });
  EXPECT_EQ(outcomes[1].error, "TransportError");
  EXPECT_THAT(outcomes[1].text, HasSubstr("does not know the secret"));
  EXPECT_EQ(outcomes[0].error, "TransportError");
  EXPECT_THAT(outcomes[0].text, HasSubstr("rank 1 could not set up tcp connections"));
}

TEST(Mesh, tells_all_ranks_when_one_has_not_the_interface) {
  const auto outcomes = run_threads(3, [](World world) {
    if (world.rank == 2) world.interface = "no0";
    make_tcp_transport(world);
  });
  EXPECT_EQ(outcomes[2].error, "ConfigError");
  for (const Rank other : {0, 1})
    EXPECT_THAT(outcomes[other].text, HasSubstr("rank 2 could not set up tcp addresses"));
}

TEST(Mesh, tells_all_ranks_when_they_count_on_different_sockets) {
  const auto outcomes =
      run_threads(2, [](const World& world) { make_tcp_transport(world, {.sockets = world.rank + 1}); });
  for (const auto& outcome : outcomes)
    EXPECT_THAT(outcome.text, HasSubstr("number of sockets")) << describe(outcome);
}

TEST(Mesh, names_the_ranks_that_never_connected) {
  const auto outcomes = run_threads(3, [](World world) {
    world.timeout = 0.5;
    if (world.rank < 2) return void(make_tcp_transport(world));
    const Fd listener = listen_at(SocketAddress::loopback());
    world.store->set("world/tcp addresses/2", "+" + local_address(listener.get()).text() + " 2");
    world.store->get("world/tcp connections/0", soon());
    world.store->get("world/tcp connections/1", soon());
  });
  EXPECT_EQ(outcomes[0].error, "Timeout");
  EXPECT_THAT(outcomes[0].text, HasSubstr("rank 2"));
}

TEST(Mesh, listens_at_the_interface_the_world_names) {
  for (const char* interface : {"lo", "127.0.0.1", "127.0.0.0/8"})
    expect_all_ok(run_threads(2, [&](World world) {
      world.interface = interface;
      talk(*make_tcp_transport(world));
    }));
}

TEST(Mesh, leaves_no_descriptor_behind_200_times) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int round = 0; round < 200; ++round)
    expect_all_ok(run_threads(2, [](const World& world) { talk(*make_tcp_transport(world)); }));
  EXPECT_EQ(descriptors(), before);
}

TEST(TcpOptions, are_refused_when_they_make_no_sense) {
  EXPECT_THROW(make_tcp_transport({}, {.sockets = 0}), ConfigError);
  EXPECT_THROW(make_tcp_transport({}, {.chunk_bytes = 1}), ConfigError);
}

}  // namespace
}  // namespace gradwire
