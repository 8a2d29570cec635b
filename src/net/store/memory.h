// The store of ranks that are threads of one process. Any thread may call.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/mutex.h"
#include "net/store/store.h"

namespace gradwire {

class MemoryStore : public Store {
 public:
  void set(std::string_view key, std::string_view value, Deadline answer = Deadline::never()) override;
  std::string get(std::string_view key, Deadline) override;
  std::string offer(std::string_view key, std::string_view value,
                    Deadline answer = Deadline::never()) override;
  std::int64_t add(std::string_view key, std::int64_t amount, Deadline answer = Deadline::never()) override;
  std::string find(std::string_view key, Deadline answer = Deadline::never()) override;

 private:
  Mutex mutex_;
  Condition changed_;
  std::map<std::string, std::string, std::less<>> values_ GUARDED_BY(mutex_);
};

}  // namespace gradwire
