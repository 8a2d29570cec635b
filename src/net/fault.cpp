#include "net/fault.h"

#include "base/error.h"
#include "base/text.h"
#include "net/overdue.h"

namespace gradwire {
namespace {

Fault::Kind kind_of(const std::exception& error) {
  if (dynamic_cast<const Mismatch*>(&error) != nullptr) return Fault::Kind::mismatch;
  if (dynamic_cast<const Timeout*>(&error) != nullptr) return Fault::Kind::timeout;
  if (dynamic_cast<const PeerLost*>(&error) != nullptr) return Fault::Kind::peer_lost;
  if (dynamic_cast<const Cancelled*>(&error) != nullptr) return Fault::Kind::cancelled;
  return Fault::Kind::error;
}

}  // namespace

Fault Fault::of(const std::exception& error, Rank origin) {
  const auto* const lost = dynamic_cast<const PeerLost*>(&error);
  return {kind_of(error), origin, lost != nullptr ? lost->peer() : -1, error.what(), awaited_in(error)};
}

void Fault::raise(Rank here) const {
  const bool mine = origin == here;
  const std::string said = mine ? text : fmt::format("rank {} reports: {}", origin, text);
  switch (kind) {
    case Kind::mismatch:
      throw Mismatch(said);
    case Kind::timeout:
      throw Overdue(said, awaited);
    case Kind::peer_lost:
      throw PeerLost(peer == here ? origin : peer, said);
    case Kind::cancelled:
      if (mine) throw Cancelled(said);
      throw PeerLost(origin, fmt::format("rank {} gave up: {}", origin, text));
    case Kind::error:
      break;
  }
  throw TransportError(said);
}

Fault Fault::seen_by(Rank here, std::vector<Rank> theirs, const std::string& waits) const {
  Fault seen = *this;
  if (kind != Kind::timeout || origin == here || theirs.empty()) return seen;
  seen.text += fmt::format("; rank {} waited for {}", here, waits);
  seen.awaited = std::move(theirs);
  return seen;
}

std::string Fault::encode() const {
  return fmt::format("{} {} {} {}", static_cast<int>(kind), origin, peer, text).substr(0, kLongest);
}

Fault Fault::decode(std::string_view text) {
  Fault fault;
  const auto take_number = [&text] {
    const auto space = std::min(text.find(' '), text.size());
    const auto number = find_integer<int>(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
    return number.value_or(-1);
  };
  const int kind = take_number();
  if (kind >= 0 && kind <= static_cast<int>(Kind::cancelled)) fault.kind = static_cast<Kind>(kind);
  fault.origin = take_number();
  fault.peer = take_number();
  fault.text = text;
  return fault;
}

}  // namespace gradwire
