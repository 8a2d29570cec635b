#include "train/data/glyphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/error.h"
#include "base/files.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

std::vector<FontFace> named(const std::vector<std::string>& families) {
  std::vector<FontFace> faces;
  for (const auto& family : families) faces.push_back({family, "Regular", family + ".ttf", 0});
  return faces;
}

TEST(FindFaces, gives_each_face_once_and_in_the_same_order_each_time) {
  const auto faces = find_faces();
  ASSERT_FALSE(faces.empty()) << "apt-get install fonts-dejavu-core";
  EXPECT_EQ(faces, find_faces());
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& face : faces) names.emplace(face.family, face.style);
  EXPECT_EQ(names.size(), faces.size());
}

TEST(FindFaces, counts_a_copy_of_a_font_once_and_passes_over_what_is_no_font) {
  const auto faces = find_faces();
  ASSERT_FALSE(faces.empty()) << "apt-get install fonts-dejavu-core";
  const std::string font = read_file(faces[0].file);
  const TempDir directory;
  std::filesystem::create_directory(directory.path() / "deeper");
  write_file(directory.path() / "a.ttf", font);
  write_file(directory.path() / "deeper" / "b.TTF", font);
  write_file(directory.path() / "empty.otf", "");
  write_file(directory.path() / "noise.ttc", std::string(5000, '\x7f'));
  write_file(directory.path() / "cut.ttf", font.substr(0, font.size() / 100));
  const auto found = find_faces(directory.path());
  ASSERT_FALSE(found.empty());
  for (const auto& face : found) EXPECT_EQ(face.file.filename(), "a.ttf");
}

// A cut font may still show its table of contents; painting it must end in a picture or an error.
TEST(PaintDigits, survives_fonts_that_are_cut) {
  const auto faces = find_faces();
  ASSERT_FALSE(faces.empty()) << "apt-get install fonts-dejavu-core";
  const std::string font = read_file(faces[0].file);
  const TempDir directory;
  for (const std::size_t part : {2u, 3u, 10u}) {
    write_file(directory.path() / "cut.ttf", font.substr(0, font.size() / part));
    for (const auto& face : find_faces(directory.path())) {
      try {
        paint_digits(face, {});
      } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr("cut.ttf"));
      }
    }
  }
  EXPECT_THROW(paint_digits({"None", "", directory.path() / "none.ttf", 0}, {}), ConfigError);
}

TEST(PaintDigits, gives_ink_on_paper_that_is_the_same_for_a_seed) {
  const auto faces = find_faces();
  ASSERT_FALSE(faces.empty()) << "apt-get install fonts-dejavu-core";
  for (const auto& face : faces) {
    const auto images = paint_digits(face, {.side = 20, .copies = 2, .seed = 3});
    ASSERT_EQ(images.size(), 2u * 10 * 20 * 20);
    for (auto image = images.begin(); image != images.end(); image += 400) {
      const double ink = std::accumulate(image, image + 400, 0.0) / 255 / 400;
      EXPECT_GT(ink, 0) << face.file;
      EXPECT_LT(ink, 0.6) << face.file;
    }
    EXPECT_EQ(images, paint_digits(face, {.side = 20, .copies = 2, .seed = 3}));
    EXPECT_NE(images, paint_digits(face, {.side = 20, .copies = 2, .seed = 4}));
  }
}

TEST(SplitFamilies, keeps_every_fifth_family_for_the_test_with_all_its_faces) {
  const auto faces = named({"A", "B", "B", "C", "D", "E", "F", "G"});
  const auto split = split_families(faces);
  EXPECT_EQ(split.train, named({"A", "C", "D", "E", "F"}));
  EXPECT_EQ(split.test, named({"B", "B", "G"}));
}

TEST(SplitFamilies, says_what_to_install_where_there_are_no_fonts) {
  const TempDir directory;
  for (const auto& faces : {find_faces(directory.path()), find_faces("/nonesuch"), named({"A", "A"})}) {
    try {
      split_families(faces);
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("apt-get install fonts-dejavu-core, or use --data generated"));
    }
  }
}

}  // namespace
}  // namespace gradwire
