#include "predict/records/fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gradwire {
namespace {

constexpr std::size_t kShown = 60;
constexpr int kShownLevels = 8;  // writing a value takes stack for every level of it

bool is_deeper(const nlohmann::json& value, int levels) {
  if (!value.is_structured()) return false;
  return levels == 0 || std::any_of(value.begin(), value.end(), [&](const nlohmann::json& inner) {
           return is_deeper(inner, levels - 1);
         });
}

std::string shown(const nlohmann::json* value) {
  if (value == nullptr) return "absent";
  if (is_deeper(*value, kShownLevels))
    return fmt::format("{} nested more than {} levels deep", value->is_array() ? "a list" : "an object",
                       kShownLevels);
  std::string text = value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() > kShown ? text.substr(0, kShown) + "..." : text;
}

}  // namespace

Fields::Fields(const nlohmann::json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) throw ConfigError(fmt::format("{}: {} is not an object", where_, shown(&object)));
}

const nlohmann::json* Fields::find(std::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::string Fields::complaint(std::string_view key, std::string_view wanted) const {
  return fmt::format("{}: `{}` is {}; it must be {}", where_, key, shown(find(key)), wanted);
}

void Fields::fail(std::string_view key, std::string_view wanted) const {
  throw ConfigError(complaint(key, wanted));
}

void Fields::fail_unknown(std::string_view key, std::string_view known) const {
  throw UnknownValue(complaint(key, known));
}

std::optional<std::string> Fields::find_text(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(key, "a string or null");
  return value->get<std::string>();
}

std::string Fields::text(std::string_view key) const {
  auto value = find_text(key);
  if (!value) fail(key, "a string");
  return *std::move(value);
}

std::size_t Fields::index_in(std::vector<std::string_view> words, std::string_view key, bool or_null) const {
  const auto found = std::find(words.begin(), words.end(), text(key));
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  if (or_null) words.emplace_back("null");
  const std::string_view last = words.back();
  words.pop_back();
  fail_unknown(key,
               words.empty() ? std::string(last) : fmt::format("{} or {}", fmt::join(words, ", "), last));
}

std::string Fields::word(std::string_view key, std::initializer_list<std::string_view> known) const {
  return std::string(known.begin()[index_in(known, key)]);
}

std::optional<std::string> Fields::find_word(std::string_view key,
                                             std::initializer_list<std::string_view> known) const {
  if (find(key) == nullptr) return std::nullopt;
  return std::string(known.begin()[index_in(known, key, true)]);
}

std::optional<double> Fields::find_number(std::string_view key, double low, double high) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= low && number <= high)) fail(key, fmt::format("a number from {} to {}", low, high));
  return number;
}

double Fields::number(std::string_view key, double low, double high) const {
  const auto value = find_number(key, low, high);
  if (!value) fail(key, fmt::format("a number from {} to {}", low, high));
  return *value;
}

std::optional<int> Fields::find_integer(std::string_view key, int low, int high) const {
  const auto value = find_number(key, low, high);
  if (value && *value != std::floor(*value)) fail(key, "a whole number");
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

int Fields::integer(std::string_view key, int low, int high) const {
  const auto value = find_integer(key, low, high);
  if (!value) fail(key, fmt::format("a whole number from {} to {}", low, high));
  return *value;
}

std::optional<bool> Fields::find_flag(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(key, "true, false or null");
  return value->get<bool>();
}

std::optional<std::vector<int>> Fields::find_integers(std::string_view key, int low, int high) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<int> integers;
  if (!value->is_array()) fail(key, "a list of whole numbers");
  for (const auto& item : *value) {
    if (!item.is_number_integer() || item.get<double>() < low || item.get<double>() > high)
      fail(key, fmt::format("a list of whole numbers from {} to {}", low, high));
    integers.push_back(item.get<int>());
  }
  return integers;
}

std::optional<std::vector<std::string>> Fields::find_texts(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  if (!value->is_array()) fail(key, "a list of strings");
  for (const auto& item : *value) {
    if (!item.is_string()) fail(key, "a list of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::optional<Fields> Fields::find_object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return Fields(*value, fmt::format("{}, `{}`", where_, key));
}

std::vector<Fields> Fields::objects(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr || !value->is_array() || value->empty()) fail(key, "a list of objects, not empty");
  std::vector<Fields> all;
  for (const auto& item : *value) all.emplace_back(item, fmt::format("{}, `{}` {}", where_, key, all.size()));
  return all;
}

std::vector<std::pair<std::string, std::string>> Fields::text_pairs() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [key, value] : object_->items()) {
    if (!value.is_string()) fail(key, "a string");
    pairs.emplace_back(key, value.get<std::string>());
  }
  return pairs;
}

}  // namespace gradwire
