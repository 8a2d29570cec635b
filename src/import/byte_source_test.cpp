#include "import/byte_source.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/error.h"
#include "base/files.h"
#include "import/gzip_fixture.h"

namespace gradwire {
namespace {

struct AllBytes {
  std::string text, damage;
};

AllBytes all_bytes(std::string_view given) {
  ByteSource source(given);
  AllBytes all;
  std::string block(1000, '\0');
  while (const auto got = source.read(block)) all.text.append(block, 0, got);
  all.damage = source.damage();
  return all;
}

TEST(ByteSource, gives_what_is_plain_as_it_is_and_unpacks_gzip) {
  const std::string text(5000, 'x');
  EXPECT_EQ(all_bytes(text).text, text);
  EXPECT_EQ(all_bytes("").text, "");
  EXPECT_EQ(all_bytes("a").text, "a");
  EXPECT_EQ(all_bytes(gzipped(text)).text, text);
  EXPECT_EQ(all_bytes(gzipped("one ") + gzipped("two")).text, "one two");
}

TEST(ByteSource, says_that_gzip_is_cut_or_damaged_and_gives_what_was_whole) {
  const std::string packed = gzipped(std::string(100000, 'x') + "end");
  EXPECT_NE(all_bytes(packed.substr(0, packed.size() / 2)).damage.find("cut off"), std::string::npos);
  std::string wrong = packed;
  wrong[packed.size() / 2] = static_cast<char>(~wrong[packed.size() / 2]);
  EXPECT_NE(all_bytes(wrong).damage, "");
  EXPECT_NE(all_bytes("\x1f\x8b").damage, "");
}

TEST(ByteSource, refuses_a_gzip_bomb) {
  const auto all = all_bytes(gzipped(std::string(70u << 20, ' ')));
  EXPECT_NE(all.damage.find("unpack to more than"), std::string::npos);
}

TEST(ByteSource, names_a_file_that_can_not_be_read) {
  const TempDir folder;
  EXPECT_THROW(ByteSource(folder.path() / "none"), ConfigError);
  EXPECT_THROW(ByteSource{folder.path()}, ConfigError);
  EXPECT_THROW(ByteSource(std::filesystem::path("/dev/zero")), ConfigError);
}

}  // namespace
}  // namespace gradwire
