// A program for mpirun: every rank checks every collective, that a disagreement is told, what becomes of messages that fail,
// and several communicators at once; prints what was wrong. With `alone`: that a second communicator is refused where MPI
// lets one thread in at a time. With `late`: a rank waits in vain, and ends.
#include "comm/mpi/mpi.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "comm/collectives_conformance.h"
#include "comm/messages.h"
#include "comm/queued.h"
#include "net/rendezvous/environment.h"

namespace {

using namespace gradwire;
using Wrong = std::vector<std::string>;

void add(Wrong& wrong, const Wrong& more) { wrong.insert(wrong.end(), more.begin(), more.end()); }

template <typename Expected>
Wrong check_failure(const std::function<void()>& call, const std::string& wanted) {
  try {
    call();
  } catch (const Expected& error) {
    const std::string text = error.what();
    return text.find(wanted) != text.npos ? Wrong{} : Wrong{fmt::format("'{}' is not in: {}", wanted, text)};
  } catch (const std::exception& error) {
    return {fmt::format("another error than expected with '{}': {}", wanted, error.what())};
  }
  return {fmt::format("'{}' was not told", wanted)};
}

Wrong check_disagreement(Collectives& collectives) {
  if (collectives.size() == 1) return {};
  std::array<float, 2> data{};
  const auto bytes = bytes_of(data).first(collectives.rank() == 0 ? 8 : 4);
  const Call call = all_reduce(bytes, DType::f32);
  const Signature signature = check_call(call, collectives.size(), 1'000'000);
  const auto disagree = [&] { collectives.run(call, signature); };
  Wrong wrong = check_failure<Mismatch>(disagree, "of 8 bytes");
  add(wrong, check_failure<Mismatch>(disagree, "of 4 bytes"));
  return wrong;
}

// Ranks 0 and 1 both wait; the one that has no more patience tells the other.
Wrong check_messages_that_fail(Collectives& collectives) {
  std::array<std::byte, 8> data{};
  if (collectives.size() == 1 || collectives.rank() > 1) return {};
  Call call = recv(data, 1 - collectives.rank());
  if (collectives.rank() == 0) call.timeout = 0.2;
  const auto wait = [&] {
    Memory none;
    run_call(collectives, call, check_call(call, collectives.size(), 0), none);
  };
  if (collectives.rank() == 0) return check_failure<Timeout>(wait, "waited 200 ms for rank 1");
  return check_failure<Timeout>(wait, "rank 0 reports: rank 0 waited 200 ms for rank 1");
}

// Rank 1 aborts and stays: it is not its end that tells rank 0, which waits for its message.
Wrong check_abort(const World& world) {
  Queued group(make_mpi(world));
  std::array<std::byte, 8> data{};
  if (world.size == 1 || world.rank > 1) return {};
  if (world.rank == 0)
    return check_failure<PeerLost>([&] { group.run(recv(data, 1)); }, "rank 1 aborted its communicator");
  group.abort();
  Wrong wrong = check_failure<Cancelled>([&] { group.run(send(data, 0)); }, "rank 1 aborted");
  add(wrong, check_failure<Cancelled>([&] { group.run(barrier()); }, "rank 1 aborted"));
  return wrong;
}

// What is under way ends too, and not with the time of the call.
Wrong check_abort_of_a_wait(const World& world) {
  Queued group(make_mpi(world));
  std::array<std::byte, 8> data{};
  if (world.size == 1 || world.rank > 1) return {};
  const auto work = group.start(recv(data, 1 - world.rank));
  if (world.rank == 0) group.abort();
  if (world.rank == 0) return check_failure<Cancelled>([&] { work->wait(); }, "rank 0");
  return check_failure<PeerLost>([&] { work->wait(); }, "rank 0 gave up");
}

// Sums of many calls, each of which all ranks must make together.
Wrong check_sums(Communicator& group, float first) {
  constexpr int kCalls = 40;
  std::vector<float> data(5000);
  for (int i = 0; i < kCalls; ++i) {
    std::fill(data.begin(), data.end(), first + static_cast<float>(i));
    group.run(all_reduce(bytes_of(data), DType::f32));
    const float expected = (first + static_cast<float>(i)) * static_cast<float>(group.size());
    if (data.front() != expected || data.back() != expected)
      return {fmt::format("call {} of two at once gave {} instead of {}", i, data.back(), expected)};
  }
  return {};
}

// The others come to the first communicator when they have left the second, where rank 0 is missing while it waits in the
// first: who lets one thread into MPI at a time stays here.
void cross(Communicator& first, Communicator& second) {
  const auto waits = first.rank() == 0 ? first.start(barrier()) : nullptr;
  second.run(barrier());
  if (waits) waits->wait();
  if (!waits) first.run(barrier());
}

Wrong check_two_at_once(const World& world) {
  Queued one(make_mpi(world)), two(make_mpi(world));
  for (int i = 0; i < 10; ++i) cross(one, two);
  Wrong wrong, others;
  std::thread other([&] { others = check_sums(one, 1); });
  wrong = check_sums(two, 1000);
  other.join();
  add(wrong, others);
  return wrong;
}

// A program that has started MPI itself, for one thread at a time, may have one communicator after another.
Wrong check_one_alone(const World& world) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  Wrong wrong;
  for (int i = 0; i < 2; ++i) {
    Queued only(make_mpi(world));
    add(wrong, check_sums(only, 1));
    add(wrong, check_failure<ConfigError>([&] { make_mpi(world); },
                                          "call MPI_Init_thread with MPI_THREAD_MULTIPLE"));
  }
  MPI_Finalize();
  return wrong;
}

// Rank 0's call has less time than the world gives; nobody comes.
Wrong wait_in_vain(const World& world) {
  Queued group(make_mpi(world));
  std::array<std::byte, 8> data{};
  Call call = world.rank == 0 ? barrier() : recv(data, 0);
  if (world.rank == 0) call.timeout = 0.4;
  group.run(call);
  return {"nobody was waited for"};
}

Wrong check_all(const World& world) {
  const auto collectives = make_mpi(world);
  auto wrong = check_collectives(*collectives);
  add(wrong, check_disagreement(*collectives));
  add(wrong, check_messages_that_fail(*collectives));
  add(wrong, check_abort(world));
  add(wrong, check_abort_of_a_wait(world));
  add(wrong, check_two_at_once(world));
  return wrong;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "all";
  const Placement placement = read_placement(process_environment());
  World world;
  world.rank = placement.rank;
  world.size = placement.size;
  const Wrong wrong = what == "late"    ? wait_in_vain(world)
                      : what == "alone" ? check_one_alone(world)
                                        : check_all(world);
  for (const auto& text : wrong) fmt::print(stderr, "rank {} of {}: {}\n", world.rank, world.size, text);
  return wrong.empty() ? 0 : 1;
}
