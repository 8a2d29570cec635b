#include <gmock/gmock.h>

#include <barrier>
#include <csignal>
#include <thread>

#include "comm/nccl/nccl_fixture.h"

namespace gradwire {
namespace {

using NcclFaults = NcclOnStandin;
using NcclPlacement = NcclOnStandin;
using testing::AllOf;
using testing::HasSubstr;

const RunOptions kImpatient{.timeout = 0.3};

// What a rank threw.
void expect_threw(const Outcome& outcome, const std::string& error,
                  const testing::Matcher<std::string>& text) {
  EXPECT_EQ(outcome.error, error) << describe(outcome);
  EXPECT_THAT(outcome.text, text);
}

TEST_F(NcclFaults, says_which_ranks_have_not_come) {
  const auto outcomes = run_threads(
      4,
      [](const World& world) {
        if (world.rank % 2 == 0) make_nccl(world);
      },
      kImpatient);
  for (Rank rank : {0, 2})
    expect_threw(outcomes[rank], "Timeout", HasSubstr("2 of 4 ranks came; not yet: ranks 1, 3"));
}

TEST_F(NcclFaults, says_who_was_waited_for_when_a_rank_does_not_come_to_a_call) {
  std::barrier all_gave_up(3);
  const auto outcomes = run_threads(
      3,
      [&all_gave_up](const World& world) {
        const auto nccl = make_nccl(world);
        const GpuData<float> data(world.rank, {1});
        const auto give_up = [&all_gave_up](const void*) { all_gave_up.arrive_and_wait(); };
        const std::unique_ptr<const void, decltype(give_up)> at_the_end(&data, give_up);
        if (world.rank == 1) return;
        nccl->run(all_reduce(data.bytes(), DType::f32));
      },
      kImpatient);
  for (Rank rank : {0, 2})
    expect_threw(
        outcomes[rank], "Timeout",
        AllOf(HasSubstr("call 0: all_reduce of 4 bytes, f32, sum"), HasSubstr("waited 300 ms"),
              HasSubstr("waited for rank 1"), HasSubstr(fmt::format("in this call too: rank {}", 2 - rank))));
}

TEST_F(NcclFaults, repeats_the_first_error_once_broken) {
  const auto outcomes = run_threads(
      2,
      [](const World& world) {
        const auto nccl = make_nccl(world);
        const auto memory = nccl->allocate(4);
        if (world.rank == 1) return world.store->get("end", Deadline::after(world.timeout * 10)), void();
        const auto first = nccl->start(all_reduce(memory.bytes(), DType::f32));
        EXPECT_THROW(first->wait(), Timeout);
        EXPECT_TRUE(first->done());
        EXPECT_THROW(first->wait(), Timeout);
        EXPECT_THROW(dynamic_cast<NcclWork&>(*first).wait_on(nullptr), Timeout);
        EXPECT_THROW(nccl->start(barrier()), Timeout);
        world.store->set("end", "1");
      },
      kImpatient);
  expect_all_ok(outcomes);
}

TEST_F(NcclFaults, shows_both_sides_when_ranks_are_in_different_calls) {
  const auto outcomes = run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const auto memory = nccl->allocate(16);
    nccl->run(all_reduce(memory.bytes().first(world.rank == 0 ? 16 : 8), DType::f32));
  });
  for (const auto& outcome : outcomes)
    expect_threw(outcome, "Mismatch", AllOf(HasSubstr("16 bytes"), HasSubstr("8 bytes")));
}

TEST_F(NcclFaults, finds_a_disagreement_before_the_call_when_told_to_check) {
  const auto outcomes = run_threads(3, [](const World& world) {
    const auto nccl = make_nccl(world, {.check_calls = true});
    const GpuData<float> data(world.rank, {1, 2});
    nccl->run(all_reduce(data.bytes(), DType::f32));
    nccl->run(barrier());
    EXPECT_EQ(data.read(), (std::vector<float>{3, 6}));
    Call call = all_reduce(data.bytes(), DType::f32);
    if (world.rank == 2) call.reduction = Reduction::max;
    nccl->run(call);
  });
  for (const auto& outcome : outcomes)
    expect_threw(outcome, "Mismatch",
                 AllOf(HasSubstr("call 2"), HasSubstr("f32, sum"), HasSubstr("f32, max")));
}

TEST_F(NcclFaults, tells_when_a_peer_leaves_in_the_middle_of_a_call) {
  const auto outcomes = run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    if (world.rank == 1) return;
    nccl->run(barrier());
  });
  expect_threw(outcomes[0], "TransportError", AllOf(HasSubstr("remote process error"), HasSubstr("rank 1")));
}

TEST_F(NcclFaults, names_a_rank_that_is_killed_in_the_middle_of_a_call) {
  for (Rank victim : {0, 2}) {  // rank 0 keeps the store
    const auto outcomes = run_processes(3, [victim](const World& world) {
      const auto nccl = make_nccl(world);
      const auto memory = nccl->allocate(1 << 20);
      nccl->run(all_reduce(memory.bytes(), DType::f32));
      if (world.rank == victim) raise(SIGKILL);
      nccl->run(all_reduce(memory.bytes(), DType::f32));
    });
    for (Rank rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      expect_threw(
          outcomes[rank], "PeerLost",
          AllOf(HasSubstr(fmt::format("rank {} (process", victim)), HasSubstr("call 1: all_reduce")));
      EXPECT_EQ(outcomes[rank].peer, victim);
    }
  }
}

TEST_F(NcclFaults, names_a_killed_rank_to_the_one_that_waits_for_its_message) {
  for (Rank victim : {0, 1}) {  // rank 0 keeps the store
    const auto outcomes = run_processes(2, [victim](const World& world) {
      const auto nccl = make_nccl(world);
      const auto memory = nccl->allocate(64);
      nccl->run(barrier());
      if (world.rank == victim) raise(SIGKILL);
      nccl->run(recv(memory.bytes(), victim));
    });
    expect_threw(outcomes[1 - victim], "PeerLost", HasSubstr(fmt::format("rank {} (process", victim)));
    EXPECT_EQ(outcomes[1 - victim].peer, victim);
  }
}

TEST_F(NcclFaults, tells_that_a_rank_aborted_to_the_one_that_waits_for_its_message) {
  const auto outcomes = run_processes(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const auto memory = nccl->allocate(64);
    nccl->run(barrier());
    if (world.rank == 0) return nccl->run(recv(memory.bytes(), 1));
    nccl->abort();
    EXPECT_THROW(nccl->run(send(memory.bytes(), 0)), Cancelled);
    EXPECT_THROW(nccl->run(barrier()), Cancelled);
    raise(SIGSTOP);  // it is not its end that tells the other
  });
  expect_threw(outcomes[0], "PeerLost", HasSubstr("rank 1 aborted its communicator"));
  EXPECT_EQ(outcomes[0].peer, 1);
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::stopped) << describe(outcomes[1]);
}

TEST_F(NcclFaults, ends_a_wait_for_a_message_when_another_thread_aborts) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const auto memory = nccl->allocate(64);
    const auto work = nccl->start(recv(memory.bytes(), 1 - world.rank));
    if (world.rank == 0) {
      world.store->get("started", Deadline::after(world.timeout));  // else the other could not even start
      std::thread other([&] { nccl->abort(); });
      EXPECT_THROW(work->wait(), Cancelled);
      other.join();
    } else {
      world.store->set("started", "1");
      EXPECT_THROW(work->wait(), PeerLost);
    }
  }));
}

TEST_F(NcclFaults, names_a_rank_that_stands_still) {
  const auto outcomes = run_processes(3,
                                      [](const World& world) {
                                        const auto nccl = make_nccl(world);
                                        if (world.rank == 2) raise(SIGSTOP);
                                        nccl->run(barrier());
                                      },
                                      {.timeout = 3});
  for (Rank rank : {0, 1})
    expect_threw(outcomes[rank], "Timeout",
                 AllOf(HasSubstr("call 0: barrier"), HasSubstr("waited for rank 2")));
}

TEST_F(NcclFaults, names_a_rank_that_dies_before_it_comes) {
  const auto outcomes = run_processes(2, [](const World& world) {
    if (world.rank == 1) raise(SIGKILL);
    make_nccl(world);
  });
  expect_threw(outcomes[0], "PeerLost", HasSubstr("rank 1"));
}

TEST_F(NcclFaults, does_not_mind_a_rank_that_ends_well_and_at_once) {
  expect_all_ok(run_processes(3, [](const World& world) {
    const auto nccl = make_nccl(world);
    const auto memory = nccl->allocate(1 << 20);
    nccl->run(all_reduce(memory.bytes(), DType::f32));
    dynamic_cast<NcclCommunicator&>(*nccl).finish();
  }));
}

TEST_F(NcclFaults, cancels_what_has_not_ended_when_it_is_destroyed) {
  const auto outcomes = run_threads(2, [](const World& world) {
    auto nccl = make_nccl(world);
    const auto memory = nccl->allocate(4);
    if (world.rank == 0) {
      const auto work = nccl->start(all_reduce(memory.bytes(), DType::f32));
      nccl.reset();
      world.store->set("gone", "1");
      EXPECT_TRUE(work->done());
      EXPECT_THROW(work->wait(), Cancelled);
    } else {
      world.store->get("gone", Deadline::after(world.timeout));
    }
  });
  expect_all_ok(outcomes);
}

TEST_F(NcclPlacement, tells_every_rank_when_one_asks_for_a_gpu_that_is_not_there) {
  const auto outcomes =
      run_threads(2, [](const World& world) { make_nccl(world, {.device = world.rank == 1 ? 8 : 0}); });
  for (const auto& outcome : outcomes)
    expect_threw(outcome, "ConfigError",
                 AllOf(HasSubstr("rank 1"), HasSubstr("GPU 8 is asked for, but this process sees 8: 0..7")));
}

TEST_F(NcclPlacement, tells_every_rank_when_two_are_on_one_gpu) {
  const auto outcomes =
      run_threads(3, [](const World& world) { make_nccl(world, {.device = world.rank == 0 ? 0 : 4}); });
  for (const auto& outcome : outcomes)
    expect_threw(outcome, "ConfigError",
                 AllOf(HasSubstr("ranks 1 and 2 are both on the GPU at 0000:14:00.0"),
                       HasSubstr("write make_nccl(world)")));
}

TEST_F(NcclPlacement, tells_that_there_is_no_gpu) {
  setenv("GRADWIRE_STANDIN_DEVICES", "0", 1);
  const auto outcomes = run_threads(2, [](const World& world) { make_nccl(world); });
  for (const auto& outcome : outcomes)
    expect_threw(outcome, "ConfigError",
                 AllOf(HasSubstr("no GPU is here"), HasSubstr("no CUDA-capable device is detected")));
}

TEST_F(NcclPlacement, refuses_a_stream_of_another_gpu_and_stays_usable) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    const GpuData<float> data(world.rank, {1});
    const GatedStream elsewhere(5);
    Call call = all_reduce(data.bytes(), DType::f32);
    call.stream = elsewhere.get();
    EXPECT_THROW(nccl->start(call), ConfigError);
    call.stream = nullptr;
    nccl->run(call);
    EXPECT_EQ(data.read(), std::vector<float>{2});
  }));
}

TEST_F(NcclPlacement, refuses_host_memory_and_memory_of_another_gpu_and_stays_usable) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto nccl = make_nccl(world);
    std::vector<float> on_host(4);
    const GpuData<float> elsewhere(5, {1}), good(world.rank, {1});
    const auto refusal_of = [&](std::span<std::byte> memory) {
      try {
        nccl->run(all_reduce(memory, DType::f32));
      } catch (const ConfigError& error) {
        return std::string(error.what());
      }
      return std::string("accepted");
    };
    EXPECT_THAT(refusal_of(bytes_of(std::span(on_host))),
                AllOf(HasSubstr(fmt::format("rank {}, call 0: all_reduce of 16 bytes", world.rank)),
                      HasSubstr("`in` is host memory"), HasSubstr("communicator.allocate(16)")));
    EXPECT_THAT(refusal_of(elsewhere.bytes()),
                AllOf(HasSubstr("memory of GPU 5, but this communicator is on GPU"),
                      HasSubstr(fmt::format("torch::kCUDA, {}", world.rank))));
    nccl->run(all_reduce(good.bytes(), DType::f32));
    EXPECT_EQ(good.read(), std::vector<float>{2});
  }));
}

}  // namespace
}  // namespace gradwire
