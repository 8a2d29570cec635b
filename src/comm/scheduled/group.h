// For tests: ranks as threads, each with scheduled collectives on a transport, and data for every type whose
// sums are exact in any order.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/kernels/kernels.h"
#include "comm/scheduled/scheduled.h"
#include "net/shm/shm_transport.h"
#include "net/tcp/tcp_transport.h"
#include "support/run_ranks.h"

namespace gradwire {

using Data = std::vector<std::byte>;
using GroupWork = std::function<void(Collectives&)>;

// Where tests run: a name, and how a rank's transport is made.
struct Ground {
  std::string name;
  std::function<std::unique_ptr<Transport>(const World&)> make;

  std::vector<Outcome> run(int ranks, const ScheduledOptions& options, const GroupWork& work,
                           const RunOptions& how = {}) const {
    return run_threads(
        ranks, [&](const World& world) { work(*make_scheduled(make(world), options)); }, how);
  }
};

inline void PrintTo(const Ground& ground, std::ostream* out) { *out << ground.name; }

inline std::vector<Ground> grounds() {
  return {{"shm", [](const World& world) { return make_shm_transport(world); }},
          {"tcp", [](const World& world) { return make_tcp_transport(world); }}};
}

inline void run_call(Collectives& group, const Call& call, std::uint64_t sequence = 0) {
  group.run(call, check_call(call, group.size(), sequence));
}

// The numbers 1 to 4, which every type holds.
inline void store_number(DType type, int number, std::byte* place) {
  static constexpr std::array<std::uint16_t, 5> kHalf = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
  static constexpr std::array<std::uint16_t, 5> kBrain = {0, 0x3f80, 0x4000, 0x4040, 0x4080};
  const auto store = [&](auto value) { std::memcpy(place, &value, sizeof value); };
  switch (type) {
    case DType::f32:
      return store(static_cast<float>(number));
    case DType::f64:
      return store(static_cast<double>(number));
    case DType::f16:
      return store(kHalf[number]);
    case DType::bf16:
      return store(kBrain[number]);
    case DType::i8:
    case DType::u8:
      return store(static_cast<std::uint8_t>(number));
    case DType::i32:
      return store(static_cast<std::int32_t>(number));
    case DType::i64:
      return store(static_cast<std::int64_t>(number));
  }
}

inline Data numbers(DType type, std::size_t elements, Rank rank) {
  Data data(elements * size_of(type));
  for (std::size_t i = 0; i < elements; ++i)
    store_number(type, 1 + static_cast<int>((i * 7 + i / 5 + static_cast<std::size_t>(rank) * 3) % 4),
                 data.data() + i * size_of(type));
  return data;
}

// What all ranks' numbers() come to.
inline Data combined_numbers(int ranks, DType type, Reduction reduction, std::size_t elements) {
  std::vector<Data> all;
  std::vector<const std::byte*> sources;
  for (Rank rank = 0; rank < ranks; ++rank)
    sources.push_back(all.emplace_back(numbers(type, elements, rank)).data());
  Data result(elements * size_of(type));
  std::byte* const destination = result.data();
  combine(best_isa(), type, reduction, sources, {&destination, 1}, result.size());
  return result;
}

}  // namespace gradwire
