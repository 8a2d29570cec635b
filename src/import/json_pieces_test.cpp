#include "import/json_pieces.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

struct Taken {
  std::vector<std::string> pieces;  // "key=text" of members, "text" of elements
  std::string damage;
};

Taken take_apart(std::string_view json) {
  ByteSource source(json);
  JsonPieces pieces(source, "traceEvents");
  Taken taken;
  while (const auto piece = pieces.next())
    taken.pieces.push_back((piece->key.empty() ? "" : std::string(piece->key) + "=") +
                           std::string(piece->text));
  taken.damage = pieces.damage();
  return taken;
}

using Pieces = std::vector<std::string>;

TEST(JsonPieces, give_members_and_the_elements_of_one) {
  const auto taken =
      take_apart(R"( {"a": [1, {"b": "]}"}], "traceEvents": [ {"x": 1} , {"y": [2]}, 7 ], "z": "end"} )");
  EXPECT_EQ(taken.pieces,
            (Pieces{R"(a=[1, {"b": "]}"}])", R"({"x": 1})", R"({"y": [2]})", "7", "z=\"end\""}));
  EXPECT_EQ(taken.damage, "");
}

TEST(JsonPieces, give_the_elements_of_a_bare_array) {
  EXPECT_EQ(take_apart("[{},{\"a\":\"\\\"{\"}]").pieces, (Pieces{"{}", "{\"a\":\"\\\"{\"}"}));
}

TEST(JsonPieces, go_on_after_a_raw_quote_at_the_end_of_its_line) {
  const auto taken =
      take_apart("{\"traceEvents\": [{\"name\": \"odd\"one\", \"b\": 1,\n\"c\": 2}, {\"d\": 3}]}");
  ASSERT_EQ(taken.pieces.size(), 2u);
  EXPECT_EQ(taken.pieces[1], "{\"d\": 3}");
}

TEST(JsonPieces, say_where_a_document_cut_anywhere_ends) {
  const std::string whole = R"({"a": 1, "traceEvents": [{"x": "y"}, {"z": [1, 2]}], "b": {"c": null}})";
  const auto all = take_apart(whole).pieces;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto taken = take_apart(std::string_view(whole).substr(0, size));
    EXPECT_FALSE(taken.damage.empty()) << size;
    ASSERT_LE(taken.pieces.size(), all.size());
    for (std::size_t i = 0; i < taken.pieces.size(); ++i) EXPECT_EQ(taken.pieces[i], all[i]);
  }
}

TEST(JsonPieces, refuse_what_is_no_json) {
  EXPECT_EQ(take_apart("").damage, "the file is empty");
  EXPECT_EQ(take_apart("hello").damage, "this is no JSON");
  EXPECT_NE(take_apart("{]").damage, "");
  EXPECT_NE(take_apart("{\"traceEvents\": [}]}").damage, "");
}

TEST(JsonPieces, take_an_event_larger_than_the_first_buffer) {
  const std::string large = "{\"a\": \"" + std::string(3 << 20, 'x') + "\"}";
  EXPECT_EQ(take_apart("[" + large + "," + large + "]").pieces, (Pieces{large, large}));
  EXPECT_NE(take_apart("[\"" + std::string(40 << 20, 'x') + "\"]").damage.find("longer than"),
            std::string::npos);
}

TEST(JsonPieces, do_not_mind_a_million_empty_arrays) {
  std::string many = "{";
  for (int i = 0; i < 200000; ++i) many += "\"traceEvents\":[],";
  EXPECT_EQ(take_apart(many + "\"a\":1}").pieces, (Pieces{"a=1"}));
  EXPECT_FALSE(take_apart(std::string(1 << 20, '[')).damage.empty());
}

}  // namespace
}  // namespace gradwire
