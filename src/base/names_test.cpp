#include "base/names.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace gradwire {

enum class Colour { red, green, blue };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Colour> = {"red", "green", "sea blue"};
template <>
inline constexpr std::array<std::pair<std::string_view, Colour>, 1> kOtherNamesOf<Colour> = {
    {{"crimson", Colour::red}}};

namespace {

using testing::ThrowsMessage;

TEST(Names, lead_from_an_enumerator_to_its_word_and_back) {
  static_assert(HasNames<Colour> && !HasNames<int>);
  EXPECT_EQ(name_of(Colour::blue), "sea blue");
  EXPECT_EQ(find_enumerator<Colour>("green"), Colour::green);
  EXPECT_EQ(find_enumerator<Colour>("blue"), std::nullopt);
}

TEST(Names, may_have_others_beside_them_that_are_taken_and_never_written) {
  EXPECT_EQ(find_enumerator<Colour>("crimson"), Colour::red);
  EXPECT_EQ(parse_choice("--light", "crimson", {Colour::red}), Colour::red);
  EXPECT_EQ(name_of(Colour::red), "red");
}

TEST(Names, are_listed_where_a_flag_takes_only_some) {
  const auto parsed = [](const char* text) {
    return parse_choice("--light", text, {Colour::red, Colour::green});
  };
  EXPECT_EQ(parsed("red"), Colour::red);
  EXPECT_THAT([&] { parsed("sea blue"); },
              ThrowsMessage<ConfigError>("--light 'sea blue': there are red, green"));
}

}  // namespace
}  // namespace gradwire
