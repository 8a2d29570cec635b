#include "topo/import/xml_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_of.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  return error_of([&] { parse_xml(text, "a.xml"); });
}

TEST(Xml, is_a_tree_of_elements_with_attributes_and_lines) {
  const XmlElement root = parse_xml(
      "<!-- made by a tool -->\n<a x=\"1 &amp; 2\">\n <b/>\n <c><d/></c> text <b y='3'/>\n</a>\n", "a.xml");
  EXPECT_EQ(root.name, "a");
  EXPECT_EQ(root.line, 2);
  EXPECT_EQ(root.attribute("x"), "1 & 2");
  EXPECT_EQ(root.attribute("y"), "");
  ASSERT_EQ(root.children.size(), 3U);
  EXPECT_EQ(root.children[2].attribute("y"), "3");
  EXPECT_EQ(root.find_child("b")->line, 3);
  EXPECT_EQ(root.find_child("c")->children[0].name, "d");
  EXPECT_EQ(root.find_child("e"), nullptr);
}

TEST(Xml, that_is_not_whole_is_refused_with_its_line) {
  EXPECT_EQ(refusal("<a>\n<b>\n</a>"),
            "a.xml line 3: this is not whole XML: a tag is not closed, or not by its own name; is the file "
            "cut off?");
  EXPECT_THAT(refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("<a>\n"), HasSubstr("a tag is not closed"));
  EXPECT_THAT(refusal("<a><b"), HasSubstr("a tag does not end"));
  EXPECT_THAT(refusal("<a b=c/>"), HasSubstr("not written as"));
  EXPECT_THAT(refusal("<a b='1' b='2'/>"), HasSubstr("twice"));
}

// Ten levels of ten make gigabytes of a few hundred bytes.
TEST(Xml, bombs_do_not_go_off) {
  std::string bomb = "<!DOCTYPE a [<!ENTITY e0 \"boom\">";
  for (int i = 1; i < 10; ++i) {
    bomb += "<!ENTITY e" + std::to_string(i) + " \"";
    for (int copy = 0; copy < 10; ++copy) bomb += "&e" + std::to_string(i - 1) + ";";
    bomb += "\">";
  }
  EXPECT_THAT(refusal(bomb + "]><a b=\"&e9;\"/>"), HasSubstr("declares an entity"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_THAT(refusal(deep), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace gradwire
