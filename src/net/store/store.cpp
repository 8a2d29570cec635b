#include "net/store/store.h"

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

// How long a loss may stay unnoticed: the store tells of a key, not of a writer, so the two are asked in
// turn.
constexpr Seconds kLookForLoss = 0.2;

}  // namespace

std::string get_from(Store& store, Rank writer, std::string_view key, Deadline deadline) {
  for (;;) {
    try {
      return store.get(key, Deadline::after(std::min(kLookForLoss, deadline.remaining())));
    } catch (const Timeout&) {
      const auto loss = store.find(fmt::format("lost/{}", writer));
      if (!loss.empty())
        throw PeerLost(writer, fmt::format("rank {} is lost: {}; it was to write '{}'", writer, loss, key));
      if (deadline.passed())
        throw Timeout(fmt::format("rank {} did not write the key '{}' to the store in time", writer, key));
    }
  }
}

std::int64_t sum_of_value(std::string_view key, std::string_view value, std::int64_t amount) {
  const auto before = find_integer<std::int64_t>(value);
  std::int64_t sum = 0;
  if (!before || __builtin_add_overflow(*before, amount, &sum))
    throw Error(fmt::format("can't add {} to the key '{}' of the store: its value is '{}'", amount, key,
                            value.substr(0, 40)));
  return sum;
}

}  // namespace gradwire
