#include <algorithm>
#include <set>

#include "train/data/font_library.h"
#include FT_TRUETYPE_TABLES_H

namespace gradwire {
namespace {

namespace fs = std::filesystem;

// A system may have thousands of fonts. So many are plenty, and are opened in a moment.
constexpr std::size_t kMostFiles = 300;
constexpr int kMostInFile = 16;

bool is_font(const fs::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return ending == ".ttf" || ending == ".otf" || ending == ".ttc" || ending == ".otc";
}

std::vector<fs::path> font_files(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error, of_file;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error))
    if (is_font(at->path()) && at->is_regular_file(of_file)) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  if (files.size() <= kMostFiles) return files;
  std::vector<fs::path> chosen;
  for (std::size_t i = 0; i < kMostFiles; ++i) chosen.push_back(files[i * files.size() / kMostFiles]);
  return chosen;
}

// Panose's kind of family, where the font says it: 5 is pictures (OpenType specification, table OS/2).
bool is_of_symbols(FT_Face face) {
  const auto* table = static_cast<const TT_OS2*>(FT_Get_Sfnt_Table(face, FT_SFNT_OS2));
  return table != nullptr && table->panose[0] == 5;
}

bool has_outline(FT_Face face, FT_UInt glyph) {
  return FT_Load_Glyph(face, glyph, FT_LOAD_NO_SCALE) == 0 &&
         face->glyph->format == FT_GLYPH_FORMAT_OUTLINE && face->glyph->outline.n_points > 0;
}

bool has_digits(FT_Face face) {
  if (!FT_IS_SCALABLE(face) || face->family_name == nullptr || is_of_symbols(face)) return false;
  if (FT_Select_Charmap(face, FT_ENCODING_UNICODE) != 0) return false;
  std::set<FT_UInt> glyphs;  // number 0 is the box for what is missing
  for (const char letter : std::string_view("0123456789Aa"))
    glyphs.insert(FT_Get_Char_Index(face, static_cast<FT_ULong>(letter)));
  return glyphs.size() == 12 && !glyphs.contains(0) &&
         std::all_of(glyphs.begin(), glyphs.end(), [&](FT_UInt glyph) { return has_outline(face, glyph); });
}

void add_faces(const FontLibrary& library, const fs::path& file, std::vector<FontFace>& faces) {
  int count = 1;
  for (int number = 0; number < std::min(count, kMostInFile); ++number) {
    const OpenFace face = open_face(library, file, number);
    if (!face) continue;
    count = static_cast<int>(face->num_faces);
    if (has_digits(face.get()))
      faces.push_back({face->family_name, face->style_name ? face->style_name : "", file, number});
  }
}

}  // namespace

std::vector<FontFace> find_faces(const fs::path& directory) {
  const FontLibrary library = open_fonts();
  std::vector<FontFace> faces;
  for (const auto& file : font_files(directory)) add_faces(library, file, faces);
  const auto name = [](const FontFace& face) { return std::tie(face.family, face.style); };
  std::stable_sort(faces.begin(), faces.end(),
                   [&](const auto& a, const auto& b) { return name(a) < name(b); });
  const auto same = [&](const auto& a, const auto& b) { return name(a) == name(b); };
  faces.erase(std::unique(faces.begin(), faces.end(), same), faces.end());
  return faces;
}

FaceSplit split_families(std::span<const FontFace> faces) {
  FaceSplit split;
  int family = -1;
  for (std::size_t i = 0; i < faces.size(); ++i) {
    if (i == 0 || faces[i].family != faces[i - 1].family) ++family;
    (family % 5 == 1 ? split.test : split.train).push_back(faces[i]);
  }
  if (split.test.empty())
    throw ConfigError(fmt::format(
        "images are digits from the system's fonts, and here are {} families of them, not two or more: "
        "apt-get install fonts-dejavu-core, or use --data generated",
        family + 1));
  return split;
}

}  // namespace gradwire
