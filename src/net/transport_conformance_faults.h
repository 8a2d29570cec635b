// The part of transport_conformance.h about errors: what each rank throws when ranks disagree, run out of
// time, cancel, leave, stop or die, and that every other rank learns of it.
#pragma once

#include <signal.h>

#include <thread>

#include "net/transport_conformance_suite.h"

namespace gradwire {

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

TEST_P(TransportConformance, says_whom_a_rank_waits_for_that_another_lost_patience_with) {
  const auto outcomes = run(3, [](Transport& transport, const World& world) {
    if (world.rank == 2) {
      world.store->get("both gave up", soon());
      return;
    }
    Buffer bytes(1);
    transport.recv(world.rank == 0 ? 2 : 0, call(1), bytes, 1);
    try {
      transport.wait_any(world.rank == 0 ? soon() : Deadline::after(0.05));
    } catch (const Timeout&) {
      if (world.rank == 0) world.store->set("both gave up", "");
      throw;
    }
  });
  expect_threw(outcomes[0], "Timeout", "rank 1 waited too long for rank 0");
  expect_threw(outcomes[0], "Timeout", "rank 0 waited for rank 2");
  expect_threw(outcomes[1], "Timeout", "waited too long for rank 0");
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

class TransportFaults : public TransportConformance {
 protected:
  // Rank 1 of three raises the signal once all have met; the others wait for it, and for each other.
  static std::vector<Outcome> run_with(int signal, std::size_t bytes, Seconds patience) {
    return run(3, [=](Transport& transport, const World&) {
      const Buffer out(bytes);
      std::vector<Buffer> in(3, Buffer(bytes));
      for (std::uint64_t round = 0;; ++round) {
        if (transport.rank() == 1 && round == 3) ::raise(signal);
        for (Rank peer = 0; peer < 3; ++peer) {
          if (peer == transport.rank()) continue;
          transport.send(peer, call(round), out, peer);
          transport.recv(peer, call(round), in[peer], 3 + peer);
        }
        const Deadline deadline = round < 3 ? soon() : Deadline::after(patience);
        for (int i = 0; i < 4; ++i) transport.wait_any(deadline);
      }
    });
  }
};

TEST_P(TransportFaults, of_a_killed_rank_reach_every_other_one_by_name) {
  for (const std::size_t bytes : {8, 4 << 20}) {
    const auto outcomes = run_with(SIGKILL, bytes, 20);
    EXPECT_EQ(outcomes[1].kind, Outcome::Kind::killed);
    for (const Rank other : {0, 2}) {
      expect_threw(outcomes[other], "PeerLost", "rank 1 is gone");
      EXPECT_EQ(outcomes[other].peer, 1);
    }
  }
}

TEST_P(TransportFaults, of_a_stopped_rank_end_in_a_timeout_that_names_it) {
  for (const std::size_t bytes : {8, 4 << 20}) {
    const auto outcomes = run_with(SIGSTOP, bytes, 0.5);
    EXPECT_EQ(outcomes[1].kind, Outcome::Kind::stopped);
    for (const Rank other : {0, 2}) expect_threw(outcomes[other], "Timeout", "rank 1 to send");
  }
}

}  // namespace gradwire
