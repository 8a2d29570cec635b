// A rehearsal: ranks that do what a parallel run of theirs would compute, each alone, and take down where it would have
// communicated (train/rehearsal.h). Such a call is a span on the communication lane whose name tells what it was: asked for at
// `ready`, needed from `begin` on, answered by nobody until `end`. Its number counts the calls of its group. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/collective.h"
#include "trace/timeline.h"

namespace gradwire {

struct RehearsedCall {
  Collective kind = Collective::all_reduce;
  bool user_memory = false;  // not the communicator's own: `gradwire bench` calls it NAME:user
  std::string group;         // the same on all ranks that take part; without spaces
  bool viewed = false;       // ranks that share memory see what it would bring, and only have to meet
  bool operator==(const RehearsedCall&) const = default;
};

// What the recorder is told, to which it adds the number: "rehearsed all_reduce:user among tp-0-1".
std::string name_of(const RehearsedCall&);

// Of a span's name; nothing when it is no such call.
std::optional<RehearsedCall> find_rehearsed(std::string_view span_name);

bool is_rehearsal(const Timeline&);

}  // namespace gradwire
