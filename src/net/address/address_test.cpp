#include "net/address/address.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include "base/error.h"
#include "net/address/interface.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

SocketAddress numeric(const char* host, std::uint16_t port = 0) { return resolve({host, port}).at(0); }

TEST(SocketAddress, is_written_as_people_write_it) {
  EXPECT_EQ(SocketAddress::loopback(80).text(), "127.0.0.1:80");
  EXPECT_EQ(numeric("::1", 80).text(), "[::1]:80");
  EXPECT_EQ(numeric("10.1.2.3").host(), "10.1.2.3");
}

TEST(SocketAddress, knows_loopback) {
  EXPECT_TRUE(numeric("127.0.1.1").is_loopback());
  EXPECT_TRUE(numeric("::1").is_loopback());
  EXPECT_FALSE(numeric("10.0.0.1").is_loopback());
  EXPECT_FALSE(SocketAddress::any(AF_INET).is_loopback());
}

TEST(HostPort, is_read_from_names_numbers_and_brackets) {
  EXPECT_EQ(parse_host_port("node1:29500"), (HostPort{"node1", 29500}));
  EXPECT_EQ(parse_host_port("10.0.0.1:1"), (HostPort{"10.0.0.1", 1}));
  EXPECT_EQ(parse_host_port("[fd00::2]:65535"), (HostPort{"fd00::2", 65535}));
  EXPECT_EQ((HostPort{"fd00::2", 7}).text(), "[fd00::2]:7");
}

TEST(HostPort, refuses_what_is_none) {
  for (const char* text :
       {"", "node1", ":29500", "node1:", "node1:0", "node1:65536", "node1:-1", "fd00::2:7"})
    EXPECT_THROW(parse_host_port(text), ConfigError) << text;
}

TEST(Resolve, names_the_host_it_does_not_know) {
  EXPECT_THAT(
      [] {
        resolve({"no-such-host.invalid", 1});
      },
      ThrowsMessage<ConfigError>(HasSubstr("'no-such-host.invalid'")));
}

std::vector<Interface> some_interfaces() {
  return {{"lo", numeric("127.0.0.1")},    {"lo", numeric("::1")},
          {"eth0", numeric("fd00::5")},    {"eth0", numeric("10.1.2.3")},
          {"ib0", numeric("192.168.7.9")}, {"eth1", numeric("172.16.0.1"), false}};
}

TEST(ChooseAddress, takes_a_name_an_address_or_a_network) {
  const auto interfaces = some_interfaces();
  EXPECT_EQ(choose_address("", interfaces).host(), "127.0.0.1");
  EXPECT_EQ(choose_address("ib0", interfaces).host(), "192.168.7.9");
  EXPECT_EQ(choose_address("fd00::5", interfaces).host(), "fd00::5");
  EXPECT_EQ(choose_address("10.0.0.0/8", interfaces).host(), "10.1.2.3");
  EXPECT_EQ(choose_address("192.168.7.8/31", interfaces).host(), "192.168.7.9");
  EXPECT_EQ(choose_address("fd00::/8", interfaces).host(), "fd00::5");
}

TEST(ChooseAddress, prefers_the_fourth_version) {
  EXPECT_EQ(choose_address("eth0", some_interfaces()).host(), "10.1.2.3");
}

TEST(ChooseAddress, lists_what_there_is_when_nothing_fits) {
  for (const char* wanted : {"eth7", "10.2.0.0/16", "192.168.7.8/32", "10.0.0.0/33", "10.0.0.0/x"})
    EXPECT_THAT([&] { choose_address(wanted, some_interfaces()); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr(wanted), HasSubstr("ib0 192.168.7.9"),
                                                 HasSubstr("eth1 172.16.0.1 (down)"))));
}

TEST(Resolve, may_be_tried_again_where_name_servers_are_out_of_reach) {
  EXPECT_THAT([] { throw_unresolved("node1", EAI_AGAIN); },
              ThrowsMessage<TransportError>(HasSubstr("'node1'")));
  EXPECT_THAT([] { throw_unresolved("node1", EAI_NONAME); },
              ThrowsMessage<ConfigError>(HasSubstr("'node1'")));
}

TEST(ListInterfaces, finds_loopback) {
  EXPECT_EQ(choose_address("lo", list_interfaces()).host(), "127.0.0.1");
}

TEST(AddressTowards, is_loopback_for_loopback) {
  EXPECT_EQ(address_towards(SocketAddress::loopback(9)).text(), "127.0.0.1:0");
}

TEST(ConnectTo, reaches_a_listener_and_says_when_there_is_none) {
  auto listener = listen_at(SocketAddress::loopback());
  const auto address = local_address(listener.get());
  EXPECT_NE(address.port(), 0);
  EXPECT_TRUE(connect_to(address, Deadline::after(60)));
  listener.reset();
  EXPECT_THAT([&] { connect_to(address, Deadline::after(60)); },
              ThrowsMessage<TransportError>(AllOf(HasSubstr(address.text()), HasSubstr("refused"))));
}

}  // namespace
}  // namespace gradwire
