// What the tests of all transports share: how a transport is made and its ranks are run, and the few steps
// that most tests are made of.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "net/transport.h"
#include "support/run_ranks.h"

namespace gradwire {

using TransportMaker = std::function<std::unique_ptr<Transport>(const World&)>;
using RankRunner = std::vector<Outcome> (*)(int, const RankFunction&, const RunOptions&);

struct TransportCase {
  std::string name;
  TransportMaker make;
  RankRunner run;
};

inline auto as_processes(const TransportMaker& make) {
  return testing::Values(TransportCase{"processes", make, &run_processes});
}
inline auto as_threads_and_processes(const TransportMaker& make) {
  return testing::Values(TransportCase{"threads", make, &run_threads},
                         TransportCase{"processes", make, &run_processes});
}

inline std::string name_of_case(const testing::TestParamInfo<TransportCase>& info) { return info.param.name; }
inline void PrintTo(const TransportCase& one, std::ostream* out) { *out << one.name; }

class TransportConformance : public testing::TestWithParam<TransportCase> {
 protected:
  using Buffer = std::vector<std::byte>;
  using Work = std::function<void(Transport&, const World&)>;

  static std::vector<Outcome> run(int ranks, const Work& work) {
    const auto make_and_work = [&](const World& world) {
      const auto transport = GetParam().make(world);
      meet(*transport);
      work(*transport, world);
    };
    return GetParam().run(ranks, make_and_work, RunOptions{});
  }

  // Returns when every rank has come: from then on none depends on the store, which may end with rank 0.
  static void meet(Transport& transport) {
    for (Rank peer = 0; peer < transport.size(); ++peer) {
      if (peer == transport.rank()) continue;
      transport.send(peer, {}, {}, peer);
      transport.recv(peer, {}, {}, transport.size() + peer);
    }
    for (int i = 0; i < 2 * (transport.size() - 1); ++i) transport.wait_any(soon());
  }

  static Deadline soon() { return Deadline::after(20); }
  static Signature call(std::uint64_t sequence, std::uint64_t bytes = 0) {
    return {.sequence = sequence, .bytes = bytes, .kind = Collective::all_reduce};
  }
  // Bytes that differ by seed and place: they repeat after a prime number, which no piece of a message is.
  static Buffer pattern(std::size_t size, unsigned seed) {
    constexpr std::size_t kPeriod = 4099;
    Buffer bytes(size);
    for (std::size_t i = 0; i < std::min(size, kPeriod); ++i)
      bytes[i] = static_cast<std::byte>((i * 131 + i / 251 + seed * 29) & 255);
    for (std::size_t done = kPeriod; done < size; done += kPeriod)
      std::memcpy(&bytes[done], bytes.data(), std::min(kPeriod, size - done));
    return bytes;
  }
  static bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }
  static std::set<Ticket> wait_for(Transport& transport, std::size_t count) {
    std::set<Ticket> tickets;
    while (tickets.size() < count) tickets.insert(transport.wait_any(soon()));
    return tickets;
  }
  static void send(Transport& transport, Rank to, const Signature& signature,
                   std::span<const std::byte> bytes) {
    transport.send(to, signature, bytes, 1);
    EXPECT_EQ(transport.wait_any(soon()), 1u);
  }
  static Buffer receive(Transport& transport, Rank from, const Signature& signature, std::size_t size) {
    Buffer bytes(size);
    transport.recv(from, signature, bytes, 2);
    EXPECT_EQ(transport.wait_any(soon()), 2u);
    return bytes;
  }
  static void expect_threw(const Outcome& outcome, const std::string& error, const std::string& part) {
    EXPECT_EQ(outcome.error, error) << describe(outcome);
    EXPECT_THAT(outcome.text, testing::HasSubstr(part));
  }
};

}  // namespace gradwire
