// What every Transport must do, as tests that a transport joins by naming how it is made:
//
//   INSTANTIATE_TEST_SUITE_P(Shm, TransportConformance, conformance_of("shm", make_shm_transport),
//   name_of_case);
//
// Each test runs its ranks as threads and as processes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
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

inline auto conformance_of(const std::string& name, const TransportMaker& make) {
  return testing::Values(TransportCase{name + "_threads", make, &run_threads});
}

inline std::string name_of_case(const testing::TestParamInfo<TransportCase>& info) { return info.param.name; }
inline void PrintTo(const TransportCase& one, std::ostream* out) { *out << one.name; }

class TransportConformance : public testing::TestWithParam<TransportCase> {
 protected:
  using Buffer = std::vector<std::byte>;
  using Work = std::function<void(Transport&, const World&)>;

  static std::vector<Outcome> run(int ranks, const Work& work) {
    return GetParam().run(
        ranks, [&](const World& world) { work(*GetParam().make(world), world); }, RunOptions{});
  }

  static Deadline soon() { return Deadline::after(20); }
  static Signature call(std::uint64_t sequence, std::uint64_t bytes = 0) {
    return {.sequence = sequence, .bytes = bytes, .kind = Collective::all_reduce};
  }
  // Bytes that differ by seed and place.
  static Buffer pattern(std::size_t size, unsigned seed) {
    Buffer bytes(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<std::byte>((i * 131 + i / 251 + seed * 29) & 255);
    return bytes;
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

TEST_P(TransportConformance, knows_its_place) {
  expect_all_ok(run(3, [](Transport& transport, const World& world) {
    EXPECT_EQ(transport.rank(), world.rank);
    EXPECT_EQ(transport.size(), 3);
  }));
}

TEST_P(TransportConformance, can_be_made_by_a_rank_alone) {
  expect_all_ok(run(1, [](Transport& transport, const World&) { EXPECT_EQ(transport.size(), 1); }));
}

TEST_P(TransportConformance, keeps_messages_between_two_ranks_in_order) {
  expect_all_ok(run(2, [](Transport& transport, const World&) {
    for (unsigned i = 0; i < 300; ++i) {
      const std::size_t size = i * 37 % 1000;
      if (transport.rank() == 0)
        send(transport, 1, call(i), pattern(size, i));
      else
        EXPECT_EQ(receive(transport, 0, call(i), size), pattern(size, i));
    }
  }));
}

TEST_P(TransportConformance, answers_every_one_of_many_round_trips) {
  expect_all_ok(run(2, [](Transport& transport, const World&) {
    const Rank peer = 1 - transport.rank();
    for (unsigned i = 0; i < 500; ++i) {
      if (transport.rank() == 0) send(transport, peer, call(i), pattern(8, i));
      EXPECT_EQ(receive(transport, peer, call(i), 8), pattern(8, i));
      if (transport.rank() == 1) send(transport, peer, call(i), pattern(8, i));
    }
  }));
}

TEST_P(TransportConformance, completes_many_outstanding_messages_of_both_directions) {
  constexpr unsigned kMessages = 2000;
  expect_all_ok(run(2, [](Transport& transport, const World&) {
    const Rank peer = 1 - transport.rank();
    std::vector<Buffer> out, in;
    for (unsigned i = 0; i < kMessages; ++i) {
      out.push_back(pattern(i % 700, i + transport.rank()));
      in.emplace_back(i % 700);
    }
    for (unsigned i = 0; i < kMessages; ++i) {
      transport.send(peer, call(i), out[i], i);
      transport.recv(peer, call(i), in[i], kMessages + i);
    }
    EXPECT_EQ(wait_for(transport, 2 * kMessages).size(), 2 * kMessages);
    for (unsigned i = 0; i < kMessages; ++i) EXPECT_EQ(in[i], pattern(i % 700, i + peer));
  }));
}

TEST_P(TransportConformance, carries_any_size_at_any_alignment) {
  const std::vector<std::size_t> sizes = {
      0,       1,       7, 23, 24, 25, 56, 57, 63, 64, 65, 4095, 65536, (64 << 10) + 1, (1 << 20) - 3,
      5 << 20, 2 << 20, 3};
  expect_all_ok(run(2, [&](Transport& transport, const World&) {
    for (const std::size_t shift : {0, 1, 13})
      for (const std::size_t size : sizes) {
        Buffer bytes(size + shift + 1, std::byte{255});
        const auto expected = pattern(size, static_cast<unsigned>(size));
        if (transport.rank() == 0) {
          std::copy(expected.begin(), expected.end(), bytes.begin() + static_cast<std::ptrdiff_t>(shift));
          send(transport, 1, call(size), std::span(bytes).subspan(shift, size));
        } else {
          transport.recv(0, call(size), std::span(bytes).subspan(shift, size), 9);
          EXPECT_EQ(transport.wait_any(soon()), 9u);
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                                 bytes.begin() + static_cast<std::ptrdiff_t>(shift)));
          EXPECT_EQ(bytes.back(), std::byte{255});
        }
      }
  }));
}

TEST_P(TransportConformance, moves_large_messages_between_all_pairs_at_once) {
  constexpr int kRanks = 4;
  constexpr std::size_t kSize = (3 << 20) + 5;
  expect_all_ok(run(kRanks, [](Transport& transport, const World&) {
    std::vector<Buffer> out(kRanks), in(kRanks, Buffer(kSize));
    for (Rank peer = 0; peer < kRanks; ++peer) {
      if (peer == transport.rank()) continue;
      out[peer] = pattern(kSize, transport.rank() * kRanks + peer);
      transport.send(peer, call(1), out[peer], peer);
      transport.recv(peer, call(1), in[peer], kRanks + peer);
    }
    wait_for(transport, 2 * (kRanks - 1));
    for (Rank peer = 0; peer < kRanks; ++peer) {
      if (peer == transport.rank()) continue;
      EXPECT_EQ(in[peer], pattern(kSize, peer * kRanks + transport.rank()));
    }
  }));
}

TEST_P(TransportConformance, keeps_several_transports_of_one_world_apart) {
  expect_all_ok(run(2, [](Transport& first, const World& world) {
    World second_world = world;
    second_world.name = "second";
    const auto second = GetParam().make(second_world);
    const Rank peer = 1 - world.rank;
    first.send(peer, call(1), pattern(9, 1), 1);
    send(*second, peer, call(2), pattern(9, 2));
    EXPECT_EQ(receive(*second, peer, call(2), 9), pattern(9, 2));
    EXPECT_EQ(first.wait_any(soon()), 1u);
    EXPECT_EQ(receive(first, peer, call(1), 9), pattern(9, 1));
  }));
}

TEST_P(TransportConformance, delivers_what_a_rank_sent_before_it_left) {
  expect_all_ok(run(3, [](Transport& transport, const World&) {
    if (transport.rank() == 0) return send(transport, 1, call(1), pattern(1000, 7));
    if (transport.rank() == 1) {
      EXPECT_EQ(receive(transport, 2, call(1), 8), pattern(8, 2));  // rank 0 has long left
      EXPECT_EQ(receive(transport, 0, call(1), 1000), pattern(1000, 7));
      return;
    }
    send(transport, 1, call(1), pattern(8, 2));
  }));
}

TEST_P(TransportConformance, shows_both_sides_when_calls_differ_and_tells_everybody) {
  const auto outcomes = run(3, [](Transport& transport, const World&) {
    Buffer bytes(64);
    if (transport.rank() == 1) transport.send(0, call(4, 256), bytes, 1);
    if (transport.rank() != 1) transport.recv(1 - transport.rank() / 2, call(4, 128), bytes, 2);
    transport.recv((transport.rank() + 1) % 3, call(5), bytes, 3);
    wait_for(transport, 3);
  });
  for (const auto& outcome : outcomes) {
    expect_threw(outcome, "Mismatch", "rank 0 is in call 4: all_reduce of 128 bytes");
    expect_threw(outcome, "Mismatch", "rank 1 is in call 4: all_reduce of 256 bytes");
  }
}

TEST_P(TransportConformance, shows_both_sides_when_lengths_differ) {
  for (const std::size_t sent : {16, 1 << 20}) {
    const auto outcomes = run(2, [&](Transport& transport, const World&) {
      Buffer bytes(sent);
      if (transport.rank() == 1)
        transport.send(0, call(3), bytes, 1);
      else
        transport.recv(1, call(3), std::span(bytes).first(sent / 2), 1);
      transport.recv(1 - transport.rank(), call(4), bytes, 2);
      wait_for(transport, 2);
    });
    for (const auto& outcome : outcomes)
      expect_threw(outcome, "Mismatch",
                   fmt::format("rank 0 expects {} bytes, but rank 1 sends {}", sent / 2, sent));
  }
}

TEST_P(TransportConformance, names_whom_it_waited_for_and_tells_the_others_that_time_is_up) {
  const auto outcomes = run(3, [](Transport& transport, const World& world) {
    Buffer bytes(12);
    if (transport.rank() == 1) world.store->get("time is up", soon());
    transport.recv(transport.rank() == 0 ? 1 : 0, call(7), bytes, 1);
    try {
      transport.wait_any(Deadline::after(transport.rank() == 0 ? 0.05 : 20));
    } catch (...) {
      if (transport.rank() == 0) world.store->set("time is up", "yes");
      throw;
    }
  });
  for (const auto& outcome : outcomes)
    expect_threw(outcome, "Timeout", "rank 0 waited too long for rank 1 to send 12 bytes (call 7");
}

TEST_P(TransportConformance, stays_broken_after_an_error) {
  expect_all_ok(run(2, [](Transport& transport, const World&) {
    Buffer bytes(1);
    transport.recv(1 - transport.rank(), call(1), bytes, 1);
    EXPECT_THROW(transport.wait_any(Deadline::after(0.01)), Timeout);
    EXPECT_THROW(transport.wait_any(soon()), Timeout);
    EXPECT_THROW(transport.send(1 - transport.rank(), call(1), bytes, 1), Timeout);
    EXPECT_THROW(transport.recv(1 - transport.rank(), call(1), bytes, 1), Timeout);
  }));
}

TEST_P(TransportConformance, stops_waiting_when_another_thread_cancels_it) {
  const auto outcomes = run(2, [](Transport& transport, const World& world) {
    Buffer bytes(1);
    transport.recv(1 - transport.rank(), call(1), bytes, 1);
    std::jthread canceller;
    if (world.rank == 0) canceller = std::jthread([&] { transport.cancel(); });
    transport.wait_any(soon());
  });
  expect_threw(outcomes[0], "Cancelled", "waiting for rank 1");
  expect_threw(outcomes[1], "PeerLost", "rank 0 gave up");
  EXPECT_EQ(outcomes[1].peer, 0);
}

TEST_P(TransportConformance, stops_the_next_wait_when_it_was_cancelled_before) {
  expect_all_ok(run(1, [](Transport& transport, const World&) {
    transport.cancel();
    EXPECT_THROW(transport.wait_any(soon()), Cancelled);
    EXPECT_THROW(transport.wait_any(soon()), Cancelled);
  }));
}

TEST_P(TransportConformance, says_that_a_rank_has_left_when_it_is_still_needed) {
  const auto outcomes = run(2, [](Transport& transport, const World&) {
    if (transport.rank() == 0) receive(transport, 1, call(1), 4);
  });
  expect_threw(outcomes[0], "PeerLost", "rank 1");
  EXPECT_EQ(outcomes[0].peer, 1);
  EXPECT_TRUE(outcomes[1].ok());
}

TEST_P(TransportConformance, refuses_peers_that_do_not_exist) {
  expect_all_ok(run(2, [](Transport& transport, const World&) {
    for (const Rank peer : {-1, 2, transport.rank()}) {
      EXPECT_THROW(transport.send(peer, call(1), {}, 1), Error);
      EXPECT_THROW(transport.recv(peer, call(1), {}, 1), Error);
    }
  }));
}

}  // namespace gradwire
