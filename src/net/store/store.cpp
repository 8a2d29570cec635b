#include "net/store/store.h"

#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "net/overdue.h"

namespace gradwire {
namespace {

// How long a loss may stay unnoticed: the store tells of a key, not of a writer, so the two are asked in
// turn.
constexpr Seconds kLookForLoss = 0.2;
constexpr std::string_view kFirst = "lost/first";

// Who is to blame that `writer` will not write: whoever made the first give up, or the writer itself.
std::optional<Rank> find_culprit(Store& store, Rank writer) {
  if (const auto first = find_integer<Rank>(store.find(kFirst))) return first;
  if (store.find(fmt::format("lost/{}", writer)).empty()) return std::nullopt;
  return find_integer<Rank>(store.offer(kFirst, std::to_string(writer)));
}

}  // namespace

std::string get_from(Store& store, Rank writer, std::string_view key, Deadline deadline) {
  for (;;) {
    try {
      return store.get(key, Deadline::after(std::min(kLookForLoss, deadline.remaining())));
    } catch (const Timeout&) {
      if (const auto culprit = find_culprit(store, writer))
        throw PeerLost(*culprit, fmt::format("rank {} is lost: {}; rank {} was to write '{}'", *culprit,
                                             store.find(fmt::format("lost/{}", *culprit)), writer, key));
      if (deadline.passed())
        throw Overdue(
            fmt::format("rank {} did not come in time: it has not written '{}' to the store", writer, key),
            {writer});
    }
  }
}

void report_lost(Store& store, Rank rank, std::string_view reason, Deadline answer) {
  store.set(fmt::format("lost/{}", rank), reason, answer);
  store.offer(kFirst, std::to_string(rank), answer);
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
