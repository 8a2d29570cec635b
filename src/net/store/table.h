// The keys of a store and who waits for them, without any network: what the server looks things up in.
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "net/store/wire.h"

namespace gradwire {

class StoreTable {
 public:
  using Client = std::uint64_t;
  struct Answer {
    Client to;
    Reply reply;
  };

  // Carries out a request of a client on the keys of its space. The answers may go to others as well: to
  // those who waited for a key that now exists.
  std::vector<Answer> serve(Client client, const std::string& space, const Request& request);

  // A client is gone; nothing more is for it.
  void forget(Client client);

  // Makes a key exist on nobody's behalf.
  std::vector<Answer> set(const std::string& space, const std::string& key, const std::string& value);
  bool has(const std::string& space, const std::string& key) const;  // and what it holds is not empty

 private:
  struct Waiter {
    Client client;
    std::uint64_t number;
  };
  struct Entry {
    std::optional<std::string> value;
    std::vector<Waiter> waiters;  // only while there is no value
  };
  using Name = std::pair<std::string, std::string>;  // space and key

  std::vector<Answer> assign(const Name& name, const std::string& value);
  Reply add(const Name& name, const Request& request, std::vector<Answer>& answers);
  using Entries = std::map<Name, Entry>;
  bool stop_waiting(Entries::iterator entry, const Waiter& who);  // false when it did not wait
  // Removes those of whom `gone` holds from an entry, and the entry if nothing is left. Returns the next one.
  template <typename Predicate>
  Entries::iterator remove_waiters(Entries::iterator entry, Predicate gone);

  Entries entries_;
};

}  // namespace gradwire
