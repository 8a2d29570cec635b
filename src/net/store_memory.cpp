#include "net/store_memory.h"

#include "base/error.h"
#include "base/text.h"

namespace gradwire {

void MemoryStore::set(std::string_view key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  values_.insert_or_assign(std::string(key), std::string(value));
  changed_.notify_all();
}

std::string MemoryStore::get(std::string_view key, Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto found = values_.end();
  const auto exists = [&] { return (found = values_.find(key)) != values_.end(); };
  if (!changed_.wait_until(lock, deadline.time_point(), exists))
    throw Timeout(fmt::format("nobody wrote the key '{}' to the store in time", key));
  return found->second;
}

std::int64_t MemoryStore::add(std::string_view key, std::int64_t amount) {
  const std::lock_guard lock(mutex_);
  auto& value = values_.try_emplace(std::string(key), "0").first->second;
  const auto sum = sum_of_value(key, value, amount);
  value = std::to_string(sum);
  changed_.notify_all();
  return sum;
}

std::string MemoryStore::find(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? std::string() : found->second;
}

}  // namespace gradwire
