// One event of a trace, read from its JSON: only the fields that any explanation needs. simdjson does the
// reading and stays out of sight.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "import/json_pieces.h"
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
  std::int64_t in_elements = 0, out_elements = 0, group_size = 0, group_rank = -1, sequence = -1;
  // Of operators recorded with shapes: elements of the first input, and its type.
  std::int64_t input_elements = 0;
  std::string_view input_type;
};

// "4458676416788.066" microseconds are 4458676416788066 ns; also "12", "1.5e3", a quoted number. Nothing for
// anything else, or out of range.
std::optional<Nanoseconds> find_nanoseconds(std::string_view microseconds);

// Owns the parser's memory; one thread.
class EventParser {
 public:
  virtual ~EventParser() = default;
  // What it gives borrows from the piece and from the parser until the next call. Nothing where it is no JSON,
  // also not with its quotes mended.
  virtual std::optional<ProfileEvent> find_event(const JsonPiece&) = 0;
};

// By the module simdjson (base/module.h); throws ConfigError where it is missing. The second is its entry.
std::unique_ptr<EventParser> make_event_parser();
extern "C" EventParser* gradwire_make_event_parser();

// The text with quotes inside of strings escaped: a quote ends a string only before , : } or ]. What traces
// before PyTorch 2.14 need where names have quotes. Bytes that no JSON may have become blanks and question marks.
std::string with_quotes_escaped(std::string_view text);

}  // namespace gradwire
