#include "train/data/glyphs.h"

#include <cmath>
#include <random>

#include "train/data/font_library.h"
#include FT_OUTLINE_H

namespace gradwire {
namespace {

constexpr int kDigits = 10;
constexpr FT_Int32 kOutlineOnly = FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP;

FT_Fixed fixed(double value) { return std::lround(value * 65536); }  // 16.16
FT_Pos pixels(double value) { return std::lround(value * 64); }      // 26.6

// How one image differs from the face's own: a digit is about 0.7 of an em high, so 0.5 to 0.85 of the image.
struct Change {
  double size, turn, slant, weight, right, up;
};

Change draw_change(std::mt19937_64& random) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Change change{};
  change.size = between(0.75, 1.2);
  change.turn = between(-0.15, 0.15);  // radians
  change.slant = between(-0.1, 0.2);
  change.weight = between(0, 0.03);  // of an em, added to strokes
  change.right = between(-0.06, 0.06), change.up = between(-0.06, 0.06);
  return change;
}

// Size, slant and turn in one matrix, then the middle of what there is to the middle of the image.
void apply(const Change& change, int side, FT_Outline& outline) {
  FT_Outline_Embolden(&outline, pixels(change.weight * side));
  const double c = std::cos(change.turn) * change.size, s = std::sin(change.turn) * change.size;
  const FT_Matrix matrix{fixed(c), fixed(c * change.slant - s), fixed(s), fixed(s * change.slant + c)};
  FT_Outline_Transform(&outline, &matrix);
  FT_BBox box;
  FT_Outline_Get_CBox(&outline, &box);
  FT_Outline_Translate(&outline, pixels(side * (0.5 + change.right)) - (box.xMin + box.xMax) / 2,
                       pixels(side * (0.5 + change.up)) - (box.yMin + box.yMax) / 2);
}

bool paint(FT_Library library, FT_Outline& outline, int side, std::uint8_t* image) {
  FT_Bitmap bitmap{};
  bitmap.rows = bitmap.width = static_cast<unsigned>(side);
  bitmap.pitch = side;
  bitmap.buffer = image;
  bitmap.num_grays = 256;
  bitmap.pixel_mode = FT_PIXEL_MODE_GRAY;
  return FT_Outline_Get_Bitmap(library, &outline, &bitmap) == 0;
}

bool paint_digit(const FontLibrary& library, FT_Face face, int digit, const Change& change, int side,
                 std::uint8_t* image) {
  if (FT_Load_Char(face, static_cast<FT_ULong>('0' + digit), kOutlineOnly) != 0) return false;
  if (face->glyph->format != FT_GLYPH_FORMAT_OUTLINE) return false;
  apply(change, side, face->glyph->outline);
  return paint(library.get(), face->glyph->outline, side, image);
}

}  // namespace

std::vector<std::uint8_t> paint_digits(const FontFace& font, const Painting& painting) {
  const FontLibrary library = open_fonts();
  const OpenFace face = open_face(library, font.file, font.number);
  const auto side = static_cast<std::size_t>(painting.side);
  std::vector<std::uint8_t> images(static_cast<std::size_t>(painting.copies * kDigits) * side * side);
  std::mt19937_64 random(painting.seed);
  bool good = face && FT_Set_Pixel_Sizes(face.get(), 0, static_cast<unsigned>(side)) == 0;
  auto* image = images.data();
  for (int i = 0; good && i < painting.copies * kDigits; ++i, image += side * side)
    good = paint_digit(library, face.get(), i % kDigits, draw_change(random), painting.side, image);
  if (!good)
    throw ConfigError(
        fmt::format("the font {} can't be painted: remove it, or use --data generated", font.file.string()));
  return images;
}

}  // namespace gradwire
