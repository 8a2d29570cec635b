// The fields of one JSON object of a record, read with the type and range each must have. Null counts as
// absent.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/names.h"

namespace gradwire {

// A value of a closed list that is not in it: the record is well formed, but we don't know what it means.
class UnknownValue : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where);  // throws ConfigError if it is not an object

  std::string text(std::string_view key) const;  // throws ConfigError if absent
  std::optional<std::string> find_text(std::string_view key) const;
  double number(std::string_view key, double low, double high) const;
  std::optional<double> find_number(std::string_view key, double low, double high) const;
  int integer(std::string_view key, int low, int high) const;
  std::optional<int> find_integer(std::string_view key, int low, int high) const;
  std::optional<bool> find_flag(std::string_view key) const;
  std::optional<std::vector<int>> find_integers(std::string_view key, int low, int high) const;
  std::optional<std::vector<std::string>> find_texts(std::string_view key) const;
  std::optional<Fields> find_object(std::string_view key) const;
  std::vector<Fields> objects(std::string_view key) const;  // throws ConfigError if absent or empty
  std::vector<std::pair<std::string, std::string>> text_pairs() const;

  // A word of a closed list, and a value of some of a type or of all of it. Throw UnknownValue for another one.
  std::string word(std::string_view key, std::initializer_list<std::string_view> known) const;
  std::optional<std::string> find_word(std::string_view key,
                                       std::initializer_list<std::string_view> known) const;
  template <HasNames Value>
  Value value(std::string_view key, std::initializer_list<Value> known) const {
    std::vector<std::string_view> words;
    for (const Value one : known) words.push_back(name_of(one));
    return known.begin()[index_in(std::move(words), key)];
  }
  template <HasNames Value>
  Value value(std::string_view key) const {
    return static_cast<Value>(index_in({kNamesOf<Value>.begin(), kNamesOf<Value>.end()}, key));
  }
  template <HasNames Value>
  std::optional<Value> find_value(std::string_view key) const {
    if (find(key) == nullptr) return std::nullopt;
    return static_cast<Value>(index_in({kNamesOf<Value>.begin(), kNamesOf<Value>.end()}, key, true));
  }

  // The same of a list that is elsewhere: `meaning` maps its text or gives nothing, `known` says what would be right.
  template <typename Find>
  auto choice(std::string_view key, Find meaning, std::string_view known) const {
    const auto found = meaning(text(key));
    if (!found) fail_unknown(key, known);
    return *found;
  }

  [[noreturn]] void fail(std::string_view key, std::string_view wanted) const;
  [[noreturn]] void fail_unknown(std::string_view key, std::string_view known) const;

 private:
  std::size_t index_in(std::vector<std::string_view> words, std::string_view key, bool or_null = false) const;
  const nlohmann::json* find(std::string_view key) const;  // null counts as absent
  std::string complaint(std::string_view key, std::string_view wanted) const;

  const nlohmann::json* object_;
  std::string where_;
};

}  // namespace gradwire
