// A program for mpirun: every rank checks every collective and that a disagreement is told; prints what was
// wrong.
#include "comm/mpi/mpi.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "base/error.h"
#include "comm/collectives_conformance.h"
#include "comm/messages.h"
#include "net/rendezvous/environment.h"

namespace {

using namespace gradwire;

std::vector<std::string> check_disagreement(Collectives& collectives) {
  std::array<float, 2> data{};
  const auto bytes = bytes_of(data).first(collectives.rank() == 0 ? 8 : 4);
  const Call call = all_reduce(bytes, DType::f32);
  try {
    collectives.run(call, check_call(call, collectives.size(), 1'000'000));
  } catch (const Mismatch& error) {
    const std::string text = error.what();
    const bool both = text.find("of 8 bytes") != text.npos && text.find("of 4 bytes") != text.npos;
    return both ? std::vector<std::string>{} : std::vector{"a mismatch must show both sides: " + text};
  }
  return collectives.size() == 1 ? std::vector<std::string>{}
                                 : std::vector<std::string>{"no mismatch was noticed"};
}

template <typename Expected>
std::vector<std::string> check_failure(Collectives& collectives, const Call& call,
                                       const std::string& wanted) {
  try {
    Memory none;
    run_call(collectives, call, check_call(call, collectives.size(), 0), none);
  } catch (const Expected& error) {
    const std::string text = error.what();
    return text.find(wanted) != text.npos ? std::vector<std::string>{}
                                          : std::vector{fmt::format("'{}' is not in: {}", wanted, text)};
  }
  return {fmt::format("'{}' was not told", wanted)};
}

// Ranks 0 and 1 both wait; the one that has no more patience tells the other.
std::vector<std::string> check_messages_that_fail(Collectives& collectives) {
  std::array<std::byte, 8> data{};
  if (collectives.size() == 1 || collectives.rank() > 1) return {};
  Call late = recv(data, 1);
  late.timeout = 0.2;
  if (collectives.rank() == 0) return check_failure<Timeout>(collectives, late, "waited 200 ms for rank 1");
  return check_failure<Timeout>(collectives, recv(data, 0),
                                "rank 0 reports: rank 0 waited 200 ms for rank 1");
}

}  // namespace

int main() {
  const Placement placement = read_placement(process_environment());
  World world;
  world.rank = placement.rank;
  world.size = placement.size;
  const auto collectives = make_mpi(world);
  auto wrong = check_collectives(*collectives);
  for (const auto& text : check_disagreement(*collectives)) wrong.push_back(text);
  for (const auto& text : check_messages_that_fail(*collectives)) wrong.push_back(text);
  for (const auto& text : wrong) fmt::print(stderr, "rank {} of {}: {}\n", world.rank, world.size, text);
  return wrong.empty() ? 0 : 1;
}
