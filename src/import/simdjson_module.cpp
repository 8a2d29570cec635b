#include "import/profile_event.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace gradwire {
namespace {

using Value = simdjson::ondemand::value;

constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

// As it is written: none of the keys asked for has anything to unescape. The parser has seen the closing quote.
std::string_view key_of(simdjson::ondemand::raw_json_string key) {
  const char* end = key.raw();
  while (*end != '"') ++end;
  return {key.raw(), static_cast<std::size_t>(end - key.raw())};
}

std::string_view token_of(Value& value) {
  auto token = trim(value.raw_json_token());
  if (token.size() >= 2 && token.front() == '"') token = trim(token.substr(1, token.rfind('"') - 1));
  return token;
}

std::int64_t integer_of(Value& value, std::int64_t otherwise) {
  const auto token = token_of(value);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  return error == std::errc{} && end != token.data() ? number : otherwise;
}

std::string_view text_of(Value& value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view{};
}

// A text is told from others by a number of its own, below all real ones.
std::int64_t identity_of(Value& value, std::string_view* text) {
  if (value.type().value() != simdjson::ondemand::json_type::string) return integer_of(value, 0);
  const auto word = text_of(value);
  if (const auto number = find_integer<std::int64_t>(word)) return *number;
  if (text != nullptr) *text = word;
  return -2 - static_cast<std::int64_t>(std::hash<std::string_view>{}(word) >> 2);
}

// Elements of the first shape: [[394241], [], 4] or [[[2, 3], [4]], []], where a list of tensors is added up.
std::int64_t elements_of(simdjson::ondemand::array shape) {
  std::int64_t product = 1, sum = 0;
  bool any = false, nested = false;
  for (Value one : shape) {
    const auto type = one.type().value();
    if (type == simdjson::ondemand::json_type::array) {
      nested = true;
      sum = std::min(kMostElements, sum + elements_of(one.get_array()));
    } else if (type == simdjson::ondemand::json_type::number) {
      any = true;
      const std::int64_t size = integer_of(one, 0);
      product = size >= 0 && size <= kMostElements / std::max<std::int64_t>(product, 1) ? product * size : 0;
    }
  }
  return nested ? sum : (any ? product : 0);
}

std::int64_t first_shape(Value& value) {
  if (value.type().value() != simdjson::ondemand::json_type::array) return 0;
  for (Value shape : value.get_array()) {
    if (shape.type().value() != simdjson::ondemand::json_type::array) continue;
    if (const auto elements = elements_of(shape.get_array()); elements > 0) return elements;
  }
  return 0;
}

std::string_view first_type(Value& value) {
  if (value.type().value() != simdjson::ondemand::json_type::array) return {};
  for (Value type : value.get_array()) {
    if (type.type().value() != simdjson::ondemand::json_type::string) continue;
    const std::string_view name = type.get_string();
    if (!name.empty()) return name;
  }
  return {};
}

// Ids of the GPU's own side.
bool read_link(std::string_view key, Value& value, ProfileEvent& event) {
  if (key == "correlation" || key == "Correlation ID")
    event.correlation = integer_of(value, -1);
  else if (key == "External id" || key == "external id")
    event.external = integer_of(value, -1);
  else if (key == "stream")
    event.stream = integer_of(value, -1);
  else if (key == "device")
    event.device = integer_of(value, -1);
  else
    return false;
  return true;
}

void read_collective(std::string_view key, Value& value, ProfileEvent& event) {
  if (key == "Collective name")
    event.collective = text_of(value);
  else if (key == "In msg nelems" || key == "In msg size")
    event.in_elements = integer_of(value, 0);
  else if (key == "Out msg nelems" || key == "Out msg size")
    event.out_elements = integer_of(value, 0);
  else if (key == "Group size")
    event.group_size = integer_of(value, 0);
  else if (key == "Rank")
    event.group_rank = integer_of(value, -1);
  else if (key == "dtype")
    event.type = text_of(value);
  else if (key == "Process Group Name" || key == "Process Group ID")
    event.group = token_of(value);
  else if (key == "Process Group Ranks")
    event.group_ranks = text_of(value);
  else if (key == "Seq")
    event.sequence = integer_of(value, -1);
  else if (key == "Input Dims")
    event.input_elements = first_shape(value);
  else if (key == "Input type")
    event.input_type = first_type(value);
}

void read_arguments(simdjson::ondemand::object arguments, ProfileEvent& event) {
  for (auto field : arguments) {
    const std::string_view key = key_of(field.key());
    Value value = field.value();
    if (!read_link(key, value, event)) read_collective(key, value, event);
  }
}

void read_field(std::string_view key, Value& value, ProfileEvent& event) {
  if (key == "ph")
    event.phase = text_of(value);
  else if (key == "cat")
    event.category = text_of(value);
  else if (key == "name")
    event.name = text_of(value);
  else if (key == "ts")
    event.begin = find_nanoseconds(token_of(value));
  else if (key == "dur") {
    event.duration = find_nanoseconds(token_of(value)).value_or(0);
    event.timed = true;
  } else if (key == "pid")
    event.process = identity_of(value, &event.process_text);
  else if (key == "tid")
    event.thread = identity_of(value, nullptr);
  else if (key == "args" && value.type().value() == simdjson::ondemand::json_type::object)
    read_arguments(value.get_object(), event);
}

ProfileEvent read_event(simdjson::ondemand::object object) {
  ProfileEvent event;
  for (auto field : object) {
    const std::string_view key = key_of(field.key());
    Value value = field.value();
    read_field(key, value, event);
  }
  return event;
}

class SimdjsonParser final : public EventParser {
 public:
  std::optional<ProfileEvent> find_event(const JsonPiece& piece) override {
    const simdjson::padded_string_view text(piece.text.data(), piece.text.size(), piece.room);
    if (auto event = find(text)) return event;
    mended_ = simdjson::padded_string(with_quotes_escaped(piece.text));
    return find(mended_);
  }

 private:
  std::optional<ProfileEvent> find(simdjson::padded_string_view text) {
    try {
      auto document = parser_.iterate(text);
      return read_event(document.get_object());
    } catch (const simdjson::simdjson_error&) {
      return std::nullopt;
    }
  }

  simdjson::ondemand::parser parser_;
  simdjson::padded_string mended_;
};

}  // namespace

EventParser* gradwire_make_event_parser() { return new SimdjsonParser; }

}  // namespace gradwire
