#include "net/store/memory.h"

#include "base/error.h"
#include "base/text.h"

namespace gradwire {

void MemoryStore::set(std::string_view key, std::string_view value, Deadline) {
  const Lock lock(mutex_);
  values_.insert_or_assign(std::string(key), std::string(value));
  changed_.notify_all();
}

std::string MemoryStore::get(std::string_view key, Deadline deadline) {
  const Lock lock(mutex_);
  for (;;) {
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    if (deadline.passed()) throw Timeout(fmt::format("nobody wrote the key '{}' to the store in time", key));
    changed_.wait_until(mutex_, deadline);
  }
}

std::string MemoryStore::offer(std::string_view key, std::string_view value, Deadline) {
  const Lock lock(mutex_);
  const auto [entry, first] = values_.try_emplace(std::string(key), value);
  if (first) changed_.notify_all();
  return entry->second;
}

std::int64_t MemoryStore::add(std::string_view key, std::int64_t amount, Deadline) {
  const Lock lock(mutex_);
  auto& value = values_.try_emplace(std::string(key), "0").first->second;
  const auto sum = sum_of_value(key, value, amount);
  value = std::to_string(sum);
  changed_.notify_all();
  return sum;
}

std::string MemoryStore::find(std::string_view key, Deadline) {
  const Lock lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? std::string() : found->second;
}

}  // namespace gradwire
