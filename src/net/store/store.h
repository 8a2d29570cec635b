// A small key-value store that all ranks of a job see: how they find each other before any transport exists.
// Thread-safe. Keys and values are bytes; a key is written once in practice, and readers wait for it.
//
// Some families of keys have a meaning of their own: "lost/<rank>" exists once that rank's connection to the
// store has ended without a goodbye, or its launcher saw it fail; "lost/first" names the rank whose loss was
// the first to make others give up; "done/<rank>" exists once a rank has ended its work, and is "done" where nothing of it is
// unfinished; "left/<rank>" exists once it needs the store no more (see rendezvous.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/units.h"

namespace gradwire {

// All but get() are answered at once by a store that is well. One that is not is waited for as long as it was told when it was
// made, and then given up; or until `answer`, where that is sooner: then a Timeout is thrown, what was asked for may still
// be done, and the store may be asked again.
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(std::string_view key, std::string_view value, Deadline answer = Deadline::never()) = 0;
  // Waits until the key exists. Throws Timeout naming the key.
  virtual std::string get(std::string_view key, Deadline) = 0;
  // Writes the key unless somebody has; what it holds then. May be repeated.
  virtual std::string offer(std::string_view key, std::string_view value,
                            Deadline answer = Deadline::never()) = 0;
  // Adds to the integer under the key (0 when absent) and returns the sum.
  virtual std::int64_t add(std::string_view key, std::int64_t amount,
                           Deadline answer = Deadline::never()) = 0;
  // The key's value if it exists now, empty otherwise.
  virtual std::string find(std::string_view key, Deadline answer = Deadline::never()) = 0;
};

// get() of a key that `writer` is to write: throws PeerLost soon after that rank is lost, or after another rank
// gave up because of a loss, instead of waiting for the deadline, and names the rank that was lost first; at
// the deadline a Timeout that names the writer.
std::string get_from(Store& store, Rank writer, std::string_view key, Deadline deadline);

// Takes down that a rank has failed, for all that wait in get_from().
void report_lost(Store& store, Rank rank, std::string_view reason, Deadline answer = Deadline::never());

// What add() means: the integer in `value` plus `amount`. Throws Error naming the key when it is no integer.
std::int64_t sum_of_value(std::string_view key, std::string_view value, std::int64_t amount);

}  // namespace gradwire
