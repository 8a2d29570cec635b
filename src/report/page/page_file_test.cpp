#include "report/page/page_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr std::string_view kPage =
    "<html><title>Gradwire</title><body><!-- answer --><script type=\"application/json\" "
    "id=\"gradwire-data\">null</script></body>";

PageData hostile() {
  PageData page;
  page.verb = "analyze";
  page.title = "</title><script>alert(1)</script>\x01";
  page.report.add(Sentence{"</script><img src=x onerror=alert(1)> <!-- & \x1b[2J \xe2\x80\xa8 \xff"});
  return page;
}

nlohmann::json data_of(const std::string& html) {
  const std::string begin = "id=\"gradwire-data\">";
  const auto at = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

TEST(PageFile, hostile_names_stay_text) {
  const std::string html = page_html(hostile(), kPage);
  const std::string inside = html.substr(html.find("gradwire-data"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(inside, Not(HasSubstr("<!--")));
  EXPECT_THAT(html, HasSubstr("<title>&#60;/title&#62;&#60;script&#62;alert(1)&#60;/script&#62;?</title>"));
  for (const char c : html) EXPECT_FALSE(static_cast<unsigned char>(c) < ' ' && c != '\n') << int(c);
  EXPECT_EQ(data_of(html)["blocks"][0]["text"],
            "</script><img src=x onerror=alert(1)> <!-- & \x1b[2J \xe2\x80\xa8 \xef\xbf\xbd");
}

// DEL, a control of C1, a mark that turns the direction of writing, a byte that is no UTF-8.
TEST(PageFile, what_would_act_is_not_in_title_or_first_sentence) {
  PageData page;
  page.title = "a\x7f, \xc2\x9b";
  page.report.add(Sentence{"b\xe2\x80\xae \xff\xc3\xa9"});
  const std::string html = page_html(page, kPage);
  EXPECT_THAT(html, HasSubstr("<title>a?, ?</title>"));
  EXPECT_THAT(html, HasSubstr("<h1>a?, ?</h1>"));
  EXPECT_THAT(html, HasSubstr("<p class=\"sentence\">b? ?\xc3\xa9</p>"));
}

TEST(PageFile, title_and_first_sentence_are_there_without_a_script) {
  PageData page;
  page.title = "gpt2 on two";
  page.report.add(Gap{}, Sentence{"Yes, 1.3x & more."}, Sentence{"Because of this."});
  EXPECT_THAT(page_html(page, kPage),
              HasSubstr("<h1>gpt2 on two</h1></header><main class=\"main\"><p class=\"sentence\">"
                        "Yes, 1.3x &#38; more.</p></main>"));
  EXPECT_THAT(page_html(page), HasSubstr("<p class=\"sentence\">Yes, 1.3x &#38; more.</p>"));
}

TEST(PageFile, the_built_in_page_takes_data_and_asks_nobody) {
  const std::string page(page_template());
  EXPECT_EQ(data_of(page_html(hostile()))["verb"], "analyze");
  for (const char* outside :
       {"src=\"http", "href=\"http", "src=\"//", "@import", "url(http", "<link rel=\"stylesheet"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_LT(page.size(), 3u << 20);
}

TEST(PageFile, a_folder_that_is_not_there_is_refused_in_one_line) {
  EXPECT_THAT(
      [] { check_page_place("/no/such/folder/page.html"); },
      ThrowsMessage<ConfigError>("--html /no/such/folder/page.html: there is no folder /no/such/folder"));
  EXPECT_THAT([] { check_page_place("/tmp"); }, ThrowsMessage<ConfigError>(HasSubstr("this is a folder")));
}

TEST(PageFile, it_is_written_whole) {
  const auto file = std::filesystem::path(testing::TempDir()) / "page_file_test.html";
  write_page(file, hostile());
  EXPECT_EQ(read_file(file), page_html(hostile()));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace gradwire
