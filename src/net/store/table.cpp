#include "net/store/table.h"

#include "base/error.h"
#include "net/store/store.h"

namespace gradwire {

std::vector<StoreTable::Answer> StoreTable::assign(const Name& name, const std::string& value) {
  auto& entry = entries_[name];
  entry.value = value;
  std::vector<Answer> answers;
  for (const auto& waiter : entry.waiters) answers.push_back({waiter.client, {waiter.number, true, value}});
  entry.waiters.clear();
  return answers;
}

std::vector<StoreTable::Answer> StoreTable::set(const std::string& space, const std::string& key,
                                                const std::string& value) {
  return assign({space, key}, value);
}

bool StoreTable::has(const std::string& space, const std::string& key) const {
  const auto found = entries_.find({space, key});
  return found != entries_.end() && found->second.value && !found->second.value->empty();
}

Reply StoreTable::add(const Name& name, const Request& request, std::vector<Answer>& answers) {
  try {
    const auto found = entries_.find(name);
    const bool exists = found != entries_.end() && found->second.value;
    const auto sum =
        std::to_string(sum_of_value(name.second, exists ? *found->second.value : "0", request.amount));
    answers = assign(name, sum);
    return {request.number, true, sum};
  } catch (const Error& error) {
    return {request.number, false, error.what()};
  }
}

std::vector<StoreTable::Answer> StoreTable::serve(Client client, const std::string& space,
                                                  const Request& request) {
  const Name name{space, request.key};
  const auto found = entries_.find(name);
  const bool exists = found != entries_.end() && found->second.value;
  std::vector<Answer> answers;
  Reply own{request.number, true, {}};
  switch (request.kind) {
    case Request::Kind::set:
      answers = assign(name, request.value);
      break;
    case Request::Kind::offer:
      if (!exists) answers = assign(name, request.value);
      own.value = entries_[name].value.value_or("");
      break;
    case Request::Kind::add:
      own = add(name, request, answers);
      break;
    case Request::Kind::find:
      if (exists) own.value = *found->second.value;
      break;
    case Request::Kind::get:
      if (!exists) {
        entries_[name].waiters.push_back({client, request.number});
        return answers;
      }
      own.value = *found->second.value;
      break;
    case Request::Kind::forget:
      if (!stop_waiting(found, {client, request.number})) return answers;
      own.ok = false;
      break;
  }
  answers.push_back({client, own});
  return answers;
}

bool StoreTable::stop_waiting(Entries::iterator entry, const Waiter& who) {
  if (entry == entries_.end()) return false;
  bool found = false;
  remove_waiters(entry, [&](const Waiter& waiter) {
    const bool same = waiter.client == who.client && waiter.number == who.number;
    found = found || same;
    return same;
  });
  return found;
}

void StoreTable::forget(Client client) {
  const auto gone = [&](const Waiter& waiter) { return waiter.client == client; };
  for (auto entry = entries_.begin(); entry != entries_.end();) entry = remove_waiters(entry, gone);
}

template <typename Predicate>
StoreTable::Entries::iterator StoreTable::remove_waiters(Entries::iterator entry, Predicate gone) {
  std::erase_if(entry->second.waiters, gone);
  const bool empty = !entry->second.value && entry->second.waiters.empty();
  return empty ? entries_.erase(entry) : std::next(entry);
}

}  // namespace gradwire
