// The words that stand for the enumerators of a type, in one table each: what flags take, JSON holds and errors list. A type
// has one where its header says, in the order of its enumerators, which count from 0:
//
//   template <>
//   inline constexpr std::array<std::string_view, 2> kNamesOf<Colour> = {"red", "green"};
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradwire {

template <typename E>
inline constexpr std::array<std::string_view, 0> kNamesOf = {};

// Words beside these that people write for the same: taken, never written.
template <typename E>
inline constexpr std::array<std::pair<std::string_view, E>, 0> kOtherNamesOf = {};

template <typename E>
concept HasNames = !kNamesOf<E>.empty();

template <HasNames E>
constexpr std::string_view name_of(E value) {
  return kNamesOf<E>[static_cast<std::size_t>(value)];
}

template <HasNames E>
constexpr std::optional<E> find_enumerator(std::string_view text) {
  for (std::size_t i = 0; i < kNamesOf<E>.size(); ++i)
    if (kNamesOf<E>[i] == text) return static_cast<E>(i);
  for (const auto& [name, value] : kOtherNamesOf<E>)
    if (name == text) return value;
  return std::nullopt;
}

template <HasNames E>
std::vector<std::string> names_of(std::initializer_list<E> values) {
  std::vector<std::string> names;
  for (const E value : values) names.emplace_back(name_of(value));
  return names;
}

// "--precision 'fp7': there are fp32, fp64". Throws ConfigError.
[[noreturn]] void refuse_choice(std::string_view flag, std::string_view text,
                                const std::vector<std::string>& known);

// The one of these that a flag names. Throws ConfigError listing them.
template <HasNames E>
E parse_choice(std::string_view flag, std::string_view text, std::initializer_list<E> choices) {
  const auto found = find_enumerator<E>(text);
  for (const E choice : choices)
    if (found == choice) return choice;
  refuse_choice(flag, text, names_of(choices));
}

}  // namespace gradwire
