// What every Transport must do, as tests that a transport joins by naming how it is made:
//
//   INSTANTIATE_TEST_SUITE_P(Shm, TransportConformance, conformance_of("shm", make_shm_transport),
//   name_of_case);
//
// Each test runs its ranks as threads and as processes.
#pragma once

#include <algorithm>

#include "net/transport_conformance_faults.h"
#include "net/transport_conformance_suite.h"

namespace gradwire {

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
        EXPECT_TRUE(same(receive(transport, 0, call(i), size), pattern(size, i)));
    }
  }));
}

TEST_P(TransportConformance, answers_every_one_of_many_round_trips) {
  expect_all_ok(run(2, [](Transport& transport, const World&) {
    const Rank peer = 1 - transport.rank();
    for (unsigned i = 0; i < 500; ++i) {
      if (transport.rank() == 0) send(transport, peer, call(i), pattern(8, i));
      EXPECT_TRUE(same(receive(transport, peer, call(i), 8), pattern(8, i)));
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
    for (unsigned i = 0; i < kMessages; ++i) EXPECT_TRUE(same(in[i], pattern(i % 700, i + peer)));
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
        const auto place = std::span(bytes).subspan(shift, size);
        const auto expected = pattern(size, static_cast<unsigned>(size));
        if (transport.rank() == 0) {
          std::copy_n(expected.data(), size, place.data());
          send(transport, 1, call(size), place);
        } else {
          transport.recv(0, call(size), place, 9);
          EXPECT_EQ(transport.wait_any(soon()), 9u);
          EXPECT_TRUE(same(place, expected));
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
      EXPECT_TRUE(same(in[peer], pattern(kSize, peer * kRanks + transport.rank())));
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
    EXPECT_TRUE(same(receive(*second, peer, call(2), 9), pattern(9, 2)));
    EXPECT_EQ(first.wait_any(soon()), 1u);
    EXPECT_TRUE(same(receive(first, peer, call(1), 9), pattern(9, 1)));
  }));
}

TEST_P(TransportConformance, delivers_what_a_rank_sent_before_it_left) {
  expect_all_ok(run(3, [](Transport& transport, const World&) {
    if (transport.rank() == 0) return send(transport, 1, call(1), pattern(1000, 7));
    if (transport.rank() == 1) {
      EXPECT_TRUE(same(receive(transport, 2, call(1), 8), pattern(8, 2)));  // rank 0 has long left
      EXPECT_TRUE(same(receive(transport, 0, call(1), 1000), pattern(1000, 7)));
      return;
    }
    send(transport, 1, call(1), pattern(8, 2));
  }));
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
