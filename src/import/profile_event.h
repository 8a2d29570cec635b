// One event of a trace, read from its JSON: only the fields that any explanation needs. Text fields borrow
// from the parser until its next document.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/profile.h"

namespace gradwire {

struct ProfileEvent {
  std::string_view name, category, phase;
  std::optional<Nanoseconds> begin;
  Nanoseconds duration = 0;
  bool timed = false;  // it has a duration
  std::int64_t process = 0, thread = 0;
  std::string_view process_text;  // where it is a text: "CPU functions"
  std::int64_t correlation = -1, external = -1, device = -1, stream = -1;

  // Of collectives.
  std::string_view collective, type, group, group_ranks;
  std::int64_t in_elements = 0, out_elements = 0, group_size = 0, sequence = -1;
  // Of operators recorded with shapes: elements of the first input, and its type.
  std::int64_t input_elements = 0;
  std::string_view input_type;
};

// "4458676416788.066" microseconds are 4458676416788066 ns; also "12", "1.5e3", a quoted number. Nothing for
// anything else, or out of range.
std::optional<Nanoseconds> find_nanoseconds(std::string_view microseconds);

// Throws simdjson::simdjson_error where it is no JSON.
ProfileEvent read_event(simdjson::ondemand::object object);

// The text with quotes inside of strings escaped: a quote ends a string only before , : } or ]. What traces
// before PyTorch 2.14 need where names have quotes.
std::string with_quotes_escaped(std::string_view text);

}  // namespace gradwire
