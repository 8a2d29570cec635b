// What a function gives, or nothing when that takes longer than allowed: for questions to somebody who may be out of reach.
// The function runs in a thread of its own, which is left behind when its time is over: it must own all that it uses.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/units.h"

namespace gradwire {

// Throws what the function throws.
template <typename Function, typename Result = std::invoke_result_t<Function&>>
std::optional<Result> find_within(Seconds longest, Function function) {
  std::packaged_task<Result()> task(std::move(function));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(std::chrono::duration<double>(longest)) != std::future_status::ready)
    return std::nullopt;
  return result.get();
}

}  // namespace gradwire
